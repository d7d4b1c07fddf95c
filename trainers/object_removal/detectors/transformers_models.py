"""Any object detector of the optional transformers library, such as YOLOS or RT-DETR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn

from trainers.data import hf_transformers
from trainers.object_removal.detectors.base import DetectorDescriptor, Raw
from trainers.parameters import parameter
from trainers.registry import importing


@dataclass(frozen=True, kw_only=True)
class TransformersParameters:
    weights: str = parameter(
        "hustvl/yolos-tiny", help="A repository of the Hub, or a folder with an object detector.", main=True
    )
    score: float = parameter(0.5, low=0.01, high=1.0, help="Objects with a lower score are left out.")


def _load(where: str) -> tuple[Any, nn.Module]:
    with importing():
        from transformers import AutoImageProcessor, AutoModelForObjectDetection

    processor = AutoImageProcessor.from_pretrained(where, trust_remote_code=False)
    return processor, hf_transformers.load_network(AutoModelForObjectDetection, where)


def _make(chosen: TransformersParameters) -> Callable[[np.ndarray], Raw]:
    processor, net = hf_transformers.fetch("The detector", chosen.weights, _load)
    return partial(_detect, processor, net, chosen.score)


@torch.inference_mode()
def _detect(processor: Any, net: Any, score: float, image: np.ndarray) -> Raw:
    output = net(**processor(images=[Image.fromarray(image)], return_tensors="pt"))
    objects = processor.post_process_object_detection(output, threshold=score, target_sizes=[image.shape[:2]])[0]
    return Raw(
        boxes=objects["boxes"].numpy(),
        names=[str(net.config.id2label[label]) for label in objects["labels"].tolist()],
        scores=objects["scores"].numpy(),
    )


DESCRIPTOR = DetectorDescriptor(
    name="transformers",
    title="A detector from transformers",
    sentence="Any object detector of the transformers library, from the Hub or a folder; YOLOS-tiny has 26 MB.",
    paper="You Only Look at One Sequence, Fang et al., NeurIPS 2021",
    parameters=TransformersParameters,
    make=_make,
    missing=lambda chosen: hf_transformers.missing(chosen.weights),
    order=40,
)
