"""torchvision's detectors of COCO's 80 classes, with their published weights or from a file."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import torch
from torch import Tensor, nn
from torchvision.models import detection

from trainers.data import access
from trainers.errors import DataError, UserError, brief
from trainers.object_removal.detectors.base import DetectorDescriptor, Raw
from trainers.parameters import parameter

SUFFIXES = (".pth", ".pt", ".safetensors")
_CONNECT_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class TorchvisionParameters:
    weights: str = parameter(
        "", help="Path of a weights file; empty: the published weights, downloaded once.", main=True
    )
    score: float = parameter(0.5, low=0.01, high=1.0, help="Objects with a lower score are left out.")


def cached(weights: Any) -> Path:
    """Return the path where torch keeps the published weights on this machine, once they are downloaded."""
    return Path(torch.hub.get_dir()) / "checkpoints" / weights.url.rpartition("/")[2]


def missing(weights: Any, chosen: TorchvisionParameters) -> str | None:
    """Say why a detector cannot be used now, or None; weights are not read."""
    if chosen.weights.strip():
        return _file(chosen.weights.strip())
    if cached(weights).is_file() or _reachable(urlsplit(weights.url).hostname or "", int(time.time() // 60)):
        return None
    return (
        f"The weights are not on this machine and cannot be downloaded now. Download {weights.url} elsewhere and give "
        "the path of the file, or draw the boxes by hand."
    )


def _file(text: str) -> str | None:
    try:
        path = access.allowed_path(text)
    except DataError as error:
        return str(error)
    if not path.is_file():
        return f"There is no weights file {path.name!r}. Give its whole path, or leave it empty."
    if path.suffix not in SUFFIXES:
        return f"A weights file must end in {', '.join(SUFFIXES)}; got {path.name!r}."
    return None


@lru_cache(maxsize=8)
def _reachable(server: str, _minute: int) -> bool:
    """Return whether a server takes a connection; asked once a minute at most."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().lower() in {"1", "on", "yes", "true"}:
        return False
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True  # only the request itself can tell whether the proxy reaches it
    try:
        socket.create_connection((server, 443), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _read(weights: Any, chosen: TorchvisionParameters) -> dict[str, Tensor]:
    path = chosen.weights.strip()
    if not path:
        return torch.hub.load_state_dict_from_url(
            weights.url, map_location="cpu", progress=False, check_hash=True, weights_only=True
        )
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(access.allowed_path(path))
    state = torch.load(access.allowed_path(path), map_location="cpu", weights_only=True)
    return state.get("model", state)  # torchvision's own training script wraps them


def _make(build: Callable[..., nn.Module], weights: Any, chosen: TorchvisionParameters) -> Callable[[np.ndarray], Raw]:
    categories = weights.meta["categories"]
    net = build(weights=None, weights_backbone=None, num_classes=len(categories))
    try:
        net.load_state_dict(_read(weights, chosen))
    except Exception as error:  # a wrong file fails in unpickling, in reading or in fitting
        raise UserError(
            f"The weights {Path(chosen.weights).name or weights.url} cannot be used for this detector. Give the file "
            f"torchvision publishes for it. ({brief(error)})"
        ) from error
    return partial(_detect, net.eval(), categories)


@torch.inference_mode()
def _detect(net: nn.Module, categories: list[str], image: np.ndarray) -> Raw:
    output = net([torch.from_numpy(image).permute(2, 0, 1).float() / 255])[0]
    return Raw(
        boxes=output["boxes"].numpy(),
        names=[categories[label] for label in output["labels"].tolist()],
        scores=output["scores"].numpy(),
    )


def _descriptor(
    name: str, title: str, sentence: str, paper: str, build: Callable[..., nn.Module], weights: Any, order: int
) -> DetectorDescriptor:
    return DetectorDescriptor(
        name=name,
        title=title,
        sentence=sentence,
        paper=paper,
        parameters=TorchvisionParameters,
        make=partial(_make, build, weights),
        missing=partial(missing, weights),
        order=order,
    )


DESCRIPTORS = (
    _descriptor(
        "ssdlite",
        "SSDlite, MobileNetV3",
        "The lightest: 13 MB, a fraction of a second per image on a CPU; misses small objects.",
        "Searching for MobileNetV3, Howard et al., ICCV 2019",
        detection.ssdlite320_mobilenet_v3_large,
        detection.SSDLite320_MobileNet_V3_Large_Weights.COCO_V1,
        10,
    ),
    _descriptor(
        "fasterrcnn",
        "Faster R-CNN, MobileNetV3",
        "74 MB, about a second per image on a CPU; a good compromise.",
        "Faster R-CNN, Ren et al., NeurIPS 2015",
        detection.fasterrcnn_mobilenet_v3_large_fpn,
        detection.FasterRCNN_MobileNet_V3_Large_FPN_Weights.COCO_V1,
        20,
    ),
    _descriptor(
        "maskrcnn",
        "Mask R-CNN, ResNet-50",
        "The most accurate boxes: 177 MB, many seconds per image on a CPU.",
        "Mask R-CNN, He et al., ICCV 2017",
        detection.maskrcnn_resnet50_fpn_v2,
        detection.MaskRCNN_ResNet50_FPN_V2_Weights.COCO_V1,
        30,
    ),
)
