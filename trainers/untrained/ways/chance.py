"""Images in an order drawn at random."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.untrained.ways.base import Setting, UntrainedDescriptor

DIM = 32


def embed(images: Tensor, _setting: Setting) -> Tensor:
    """Draw a direction for each image, the same for the same number of images: float32 ``[N, DIM]``."""
    return torch.randn(len(images), DIM, generator=torch.Generator().manual_seed(0))


DESCRIPTOR = UntrainedDescriptor(
    name="chance",
    title="Chance",
    sentence="Images in an order drawn at random, once.",
    embed=embed,
    order=0,
)
