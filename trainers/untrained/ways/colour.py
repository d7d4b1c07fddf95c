"""How often colours occur in an image, wherever they are."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.untrained.ways.base import Setting, UntrainedDescriptor

BINS = (8, 4, 4)
"""Of hue, saturation and value."""
_PART = 256


def embed(images: Tensor, _setting: Setting) -> Tensor:
    """Return the square roots of the shares of the pixels in each bin, float32 ``[N, 128]``.

    The cosine of two is the Bhattacharyya coefficient of the histograms.
    """
    return torch.cat([histograms(part).sqrt() for part in images.split(_PART)])


def histograms(images: Tensor) -> Tensor:
    """Return the share of the pixels in each bin of HSV, float32 ``[N, 128]``, of images uint8 ``[N, C, H, W]``."""
    hue, saturation, value = hsv(images.expand(-1, 3, -1, -1).float().div(255))
    parts = (
        (part * bins).long().clamp_(max=bins - 1) for part, bins in zip((hue, saturation, value), BINS, strict=True)
    )
    first, second, third = parts
    bins = ((first * BINS[1] + second) * BINS[2] + third).flatten(1)
    counts = torch.zeros(len(images), BINS[0] * BINS[1] * BINS[2])
    return counts.scatter_add_(1, bins, torch.ones(()).expand(bins.shape)) / bins.shape[1]


def hsv(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return hue, saturation and value in 0..1, float ``[N, H, W]`` each, of images float ``[N, 3, H, W]`` in 0..1."""
    red, green, blue = images.unbind(1)
    value, low = images.amax(1), images.amin(1)
    span = value - low
    part = span.clamp(min=1e-6)
    hue = torch.where(
        value == red,
        (green - blue) / part % 6,
        torch.where(value == green, (blue - red) / part + 2, (red - green) / part + 4),
    )
    return hue / 6, span / value.clamp(min=1e-6), value


DESCRIPTOR = UntrainedDescriptor(
    name="colour",
    title="Colour",
    sentence="A histogram of the colours of an image, 8 x 4 x 4 bins in HSV; shapes count for nothing.",
    embed=embed,
    order=1,
)
