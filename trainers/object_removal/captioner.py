"""Captions for object-removed images from a captioner, the paper's second source of captions (Kim et al. 2023, 3.3).

The paper used ClipCap; BLIP is used here because a maintained library provides its weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from PIL import Image

from trainers.data import hf_transformers
from trainers.data.picture import check_image
from trainers.object_removal.blip import WEIGHTS
from trainers.registry import importing

_CHOICES = {"num_beams": 3, "max_new_tokens": 20, "do_sample": False}  # as in the demonstration of the BLIP paper


def missing(where: str = WEIGHTS) -> str | None:
    """Say why the captioner cannot be used now, or None; cheap."""
    return hf_transformers.missing(where)


def captioner(where: str = WEIGHTS) -> Callable[[np.ndarray], str]:
    """Load BLIP's captioner.

    Args:
        where: a repository of the Hub, or a folder with a BLIP captioning model.

    Returns:
        A function that writes a caption for an image uint8 ``[H, W, 3]``, always the same one for the same image.

    Raises:
        UserError: the transformers library or the weights are missing.
    """
    processor, net = hf_transformers.fetch("The captioner", where, _load)

    @torch.inference_mode()
    def write(image: np.ndarray) -> str:
        check_image(image)
        pixels = processor.image_processor(images=[Image.fromarray(image)], return_tensors="pt")["pixel_values"]
        tokens = net.generate(pixel_values=pixels, **_CHOICES)
        return processor.tokenizer.decode(tokens[0], skip_special_tokens=True).strip()

    return write


def _load(where: str) -> tuple:
    with importing():
        from transformers import BlipForConditionalGeneration, BlipProcessor

    processor = BlipProcessor.from_pretrained(where, trust_remote_code=False)
    return processor, hf_transformers.load_network(BlipForConditionalGeneration, where)
