"""No augmentation, and a light one: small turns, changes of size, moves and changes of light."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import Tensor

from trainers.parameters import parameter
from trainers.training.augmentations.base import COLOUR, AugmentationDescriptor, Change, Draws, unit

NONE = AugmentationDescriptor(
    name="none",
    title="None",
    sentence="Images as they are.",
    paper="None",
    make=lambda _parameters, _channels: lambda images, _draws: unit(images),
    order=0,
)


@dataclass(frozen=True, kw_only=True)
class LightParameters:
    """The strength of the augmentation."""

    strength: float = parameter(1.0, low=0.0, high=3.0, help="Multiplies turn, change of size, move and light.")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the changes of an image.

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

    def times(self, strength: float) -> Limits:
        """Multiply the limits."""
        return Limits(
            rotate=self.rotate * strength,
            scale=self.scale * strength,
            shift=self.shift * strength,
            light=self.light * strength,
            flip=self.flip,
        )


def for_channels(channels: int) -> Limits:
    """Return the limits for images of so many channels.

    Colour images may be mirrored; grey drawings and letters may not, because a mirrored letter is another letter.
    """
    return Limits() if channels == COLOUR else Limits(flip=False, light=0.0, rotate=10.0)


def change(images: Tensor, draws: Draws, limits: Limits) -> Tensor:
    """Change every image a little: uint8 ``[B, C, H, W]`` -> float32 in 0..1."""
    count = len(images)
    uniform = draws.uniform(7) * 2 - 1
    theta = _affine(uniform, limits).to(images.device, non_blocking=True)
    pixels = unit(images)
    grid = F.affine_grid(theta, list(pixels.shape), align_corners=False)
    pixels = F.grid_sample(pixels, grid, padding_mode="border", align_corners=False)
    if limits.light:
        shape = (count, 1, 1, 1)
        gain = (1 + limits.light * uniform[:, 5]).reshape(shape).to(images.device, non_blocking=True)
        offset = (limits.light / 2 * uniform[:, 6]).reshape(shape).to(images.device, non_blocking=True)
        pixels = (pixels - 0.5).mul_(gain).add_(0.5 + offset).clamp_(0, 1)
    return pixels


def _affine(uniform: Tensor, limits: Limits) -> Tensor:
    """Return inverse affine maps ``[B, 2, 3]`` from draws in -1..1, as ``affine_grid`` takes them."""
    angle = uniform[:, 0] * math.radians(limits.rotate)
    size = 1 + limits.scale * uniform[:, 1]
    mirror = torch.where(uniform[:, 2] > 0, 1.0, -1.0) if limits.flip else torch.ones(len(uniform))
    cos, sin = torch.cos(angle) * size, torch.sin(angle) * size
    rows = [
        torch.stack([cos * mirror, -sin, 2 * limits.shift * uniform[:, 3]], 1),
        torch.stack([sin * mirror, cos, 2 * limits.shift * uniform[:, 4]], 1),
    ]
    return torch.stack(rows, 1)


def _make(parameters: LightParameters, channels: int) -> Change:
    limits = for_channels(channels).times(parameters.strength)
    return lambda images, draws: change(images, draws, limits)


LIGHT = AugmentationDescriptor(
    name="light",
    title="Light",
    sentence="A small turn, change of size, move and change of light; colour images are mirrored too.",
    paper="Ours",
    parameters=LightParameters,
    make=_make,
    order=1,
)


DESCRIPTORS = (NONE, LIGHT)
