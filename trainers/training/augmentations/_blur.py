"""Gaussian blur, of another width for each image."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import Tensor

from trainers.devices.host import send
from trainers.training.augmentations._draws import Draws

SIGMAS = (0.1, 2.0)  # pixels
_REACH = 3  # standard deviations to either side: what lies beyond is 0.3 % of the weight


def random_blur(images: Tensor, draws: Draws, probability: float) -> Tensor:
    """Blur each image of float ``[B, C, H, W]`` with ``probability``, by 0.1 to 2 pixels."""
    which, sigmas = draws.chosen(probability), draws.between(*SIGMAS)
    rows = which.nonzero()[:, 0]
    if not len(rows):
        return images
    there = send(rows, images.device)
    return images.index_copy(0, there, blur(images.index_select(0, there), sigmas[rows]))


def radius(side: int) -> int:
    """Return the pixels to either side that a blur looks at; fewer than the image has, as it is mirrored."""
    return min(math.ceil(_REACH * SIGMAS[1]), side - 1)


def blur(images: Tensor, sigmas: Tensor) -> Tensor:
    """Blur every image of float ``[B, C, H, W]``; ``sigmas``: float ``[B]`` on the CPU, pixels."""
    count, channels, height, width = images.shape
    pixels = images
    for size, axis in ((width, 3), (height, 2)):
        reach = radius(size)
        at = torch.arange(-reach, reach + 1, dtype=torch.float64)
        weights = torch.exp(-0.5 * (at / sigmas.double()[:, None]).square())
        weights = (weights / weights.sum(1, keepdim=True)).float().repeat_interleave(channels, 0)
        shape = (count * channels, 1, *((1, -1) if axis == 3 else (-1, 1)))
        pad = (reach, reach, 0, 0) if axis == 3 else (0, 0, reach, reach)
        padded = F.pad(pixels.reshape(1, count * channels, height, width), pad, mode="reflect")
        pixels = F.conv2d(padded, send(weights, images.device).reshape(shape), groups=count * channels)
    return pixels.reshape(images.shape).clamp(0, 1)
