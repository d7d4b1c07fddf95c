"""Augmentation on whole batches, on the device, a pure function of (seed, step).

Every arm of a comparison gets the same draws, and a resumed run gets the draws it would have had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """How far an image may be changed.

    Attributes:
        rotate: largest rotation, degrees.
        scale: largest relative change of size.
        shift: largest move, share of the side.
        light: largest relative change of brightness and of contrast.
        flip: mirror half of the images left to right.
    """

    rotate: float = 8.0
    scale: float = 0.12
    shift: float = 0.08
    light: float = 0.15
    flip: bool = True


def for_channels(channels: int) -> Augmentation:
    """The augmentation for images of so many channels.

    Colour images may be mirrored; grey drawings and letters may not, because a mirrored letter is another letter."""
    return Augmentation() if channels == 3 else Augmentation(flip=False, light=0.0, rotate=10.0)


def augment(images: Tensor, how: Augmentation, *, seed: int, step: int, view: int) -> Tensor:
    """Change every image a little.

    Args:
        images: uint8 ``[B, C, H, W]``.
        how: the limits.
        seed, step, view: name the draws; the same three give the same result on the same device.

    Returns:
        float32 ``[B, C, H, W]`` in 0..1.
    """
    draws = torch.Generator().manual_seed((seed * 1_000_003 + step) * 8 + view)
    count = len(images)
    uniform = torch.rand(count, 7, generator=draws) * 2 - 1
    theta = _affine(uniform, how).to(images.device, non_blocking=True)
    pixels = images.float().div_(255)
    grid = F.affine_grid(theta, list(pixels.shape), align_corners=False)
    pixels = F.grid_sample(pixels, grid, padding_mode="border", align_corners=False)
    if how.light:
        shape = (count, 1, 1, 1)
        gain = (1 + how.light * uniform[:, 5]).reshape(shape).to(images.device, non_blocking=True)
        offset = (how.light / 2 * uniform[:, 6]).reshape(shape).to(images.device, non_blocking=True)
        pixels = (pixels - 0.5).mul_(gain).add_(0.5 + offset).clamp_(0, 1)
    return pixels


def _affine(uniform: Tensor, how: Augmentation) -> Tensor:
    """Inverse affine maps ``[B, 2, 3]`` from draws in -1..1, as ``affine_grid`` takes them."""
    angle = uniform[:, 0] * math.radians(how.rotate)
    size = 1 + how.scale * uniform[:, 1]
    mirror = torch.where(uniform[:, 2] > 0, 1.0, -1.0) if how.flip else torch.ones(len(uniform))
    cos, sin = torch.cos(angle) * size, torch.sin(angle) * size
    rows = [
        torch.stack([cos * mirror, -sin, 2 * how.shift * uniform[:, 3]], 1),
        torch.stack([sin * mirror, cos, 2 * how.shift * uniform[:, 4]], 1),
    ]
    return torch.stack(rows, 1)
