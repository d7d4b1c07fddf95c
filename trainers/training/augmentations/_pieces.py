"""A few images at a time, where a processor changes them."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.training.augmentations._draws import Draws
from trainers.training.augmentations.base import Change

PIECE = 1 << 18
"""Pixel values in a piece: about a megabyte, which stays in a processor's cache between one operation and the next."""


def in_pieces(change: Change) -> Change:
    """Make a change piece by piece on the CPU: the memory is the bottleneck there, and the result the same."""

    def pieces(images: Tensor, draws: Draws) -> Tensor:
        count = len(images)
        size = max(1, PIECE // max(1, images[:1].numel()))
        if images.device.type != "cpu" or count <= size:
            return change(images, draws)
        made = torch.empty(images.shape, dtype=torch.float32)
        for start in range(0, count, size):
            made[start : start + size] = change(images[start : start + size], draws.part(start, start + size))
        return made

    return pieces
