"""Thumbnails as vectors."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from trainers.untrained.ways.base import Setting, UntrainedDescriptor

SIDE = 8
_PART = 256


def embed(images: Tensor, _setting: Setting) -> Tensor:
    """Return the pixels of thumbnails less the mean of all, float32 ``[N, C * SIDE * SIDE]``."""
    small = (functional.interpolate(part.float(), (SIDE, SIDE), mode="area") for part in images.split(_PART))
    pixels = torch.cat([part.flatten(1) for part in small])
    return pixels - pixels.mean(0)


DESCRIPTOR = UntrainedDescriptor(
    name="pixels",
    title="Pixels",
    sentence=f"Thumbnails of {SIDE} x {SIDE} pixels as vectors, less the mean thumbnail.",
    embed=embed,
    order=2,
)
