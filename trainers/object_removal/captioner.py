"""Sentences for object-removed photos from a captioner: the paper's second way of writing them (Kim et al. 2023, 3.3).

The paper used ClipCap; BLIP is taken here because its weights can be had through a maintained library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from PIL import Image

from trainers import hf_transformers
from trainers.errors import UserError

WEIGHTS = "Salesforce/blip-image-captioning-base"
Captioner = Callable[[Sequence[np.ndarray]], list[str]]
"""Photos uint8 ``[H, W, 3]`` of any sizes to one sentence each."""

_BATCH = 8
_CHOICES = {"num_beams": 3, "max_new_tokens": 20, "do_sample": False}  # as in the BLIP paper's own demonstration


def missing(where: str = WEIGHTS) -> str | None:
    """Why the captioner cannot be used now, or None; cheap."""
    return hf_transformers.missing(where)


def captioner(where: str = WEIGHTS, *, device: str = "cpu") -> Captioner:
    """Load BLIP's captioner.

    Args:
        where: a repository of the Hub, or a folder with a BLIP captioning model.
        device: where it runs.

    Returns:
        A function that writes one sentence for every photo, always the same one for the same photo.

    Raises:
        UserError: the transformers library or the weights cannot be had.
    """
    processor, net = hf_transformers.fetch("The captioner", where, _load)
    net.to(device)

    @torch.inference_mode()
    def write(photos: Sequence[np.ndarray]) -> list[str]:
        for photo in photos:
            if photo.dtype != np.uint8 or photo.ndim != 3 or photo.shape[2] != 3:
                raise UserError(f"A photo uint8 [H, W, 3] was needed; {photo.dtype} {list(photo.shape)} came.")
        found: list[str] = []
        for start in range(0, len(photos), _BATCH):
            images = [Image.fromarray(photo) for photo in photos[start : start + _BATCH]]
            pixels = processor.image_processor(images=images, return_tensors="pt")["pixel_values"].to(device)
            tokens = net.generate(pixel_values=pixels, **_CHOICES)
            found += [text.strip() for text in processor.tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        return found

    return write


def _load(where: str) -> tuple:
    from transformers import BlipForConditionalGeneration, BlipProcessor

    processor = BlipProcessor.from_pretrained(where, trust_remote_code=False)
    return processor, hf_transformers.load_network(BlipForConditionalGeneration, where)
