"""The descriptor of a corruption, its random draws, and the function that checks images and changes them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from trainers.errors import UserError
from trainers.registry import Descriptor

SEVERITIES = (1, 2, 3, 4, 5)
SMALL, LARGE = 32, 224  # sides in pixels of CIFAR-10-C and ImageNet-C


class Draws:
    """Random numbers of one batch, on its device: a function of a text.

    The severity is no part of it: the same pixels are hit at every severity, only harder.
    """

    def __init__(self, text: str, device: torch.device) -> None:
        digest = hashlib.sha256(text.encode()).digest()
        self.generator = torch.Generator(device).manual_seed(int.from_bytes(digest[:7], "big"))
        self._device = device

    def uniform(self, *shape: int) -> Tensor:
        """Draw from 0 to 1, float32."""
        return torch.rand(shape, generator=self.generator, device=self._device)

    def normal(self, *shape: int) -> Tensor:
        """Draw standard normal, float32."""
        return torch.randn(shape, generator=self.generator, device=self._device)


Change = Callable[[Tensor, int, Draws], Tensor]
"""float32 ``[B, C, H, W]`` in 0..1, which it may not write to, the severity and the draws to the same shape."""


@dataclass(frozen=True, kw_only=True)
class CorruptionDescriptor(Descriptor):
    """One entry of the registry of corruptions.

    Attributes:
        group: the paper's.
        change: see :data:`Change`; what leaves 0..1 is cut off afterwards.
        differs: how it differs from the code that drew the paper's datasets; empty: in random draws and rounding only.
    """

    group: Literal["noise", "blur", "weather", "digital"]
    change: Change
    differs: str = ""


@torch.no_grad()
def corrupt(corruption: CorruptionDescriptor, images: Tensor, *, severity: int, seed: int, first: int = 0) -> Tensor:
    """Corrupt every image of a batch, each in its own way.

    Args:
        corruption: of the registry.
        images: uint8 ``[B, C, H, W]``, grey (C = 1) or colour (C = 3), on any device.
        severity: 1 to 5. The strengths are those of CIFAR-10-C at 32 pixels and of ImageNet-C at 224 (of the shorter
            side), where an entry does not say otherwise; see :func:`strength` for other sides.
        seed, first: of the draws, ``first`` being the place of the batch's first image among all; the same arguments
            give the same bytes on the same device.

    Returns:
        uint8 ``[B, C, H, W]``, a new tensor on the same device.

    Raises:
        UserError: the images are of another shape or type, or there is no such severity.
    """
    if images.dim() != 4 or images.dtype != torch.uint8 or images.shape[1] not in (1, 3) or 0 in images.shape[2:]:
        raise UserError(f"Corruptions need images uint8 [B, 1 or 3, H, W]; got {images.dtype} {list(images.shape)}.")
    if severity not in SEVERITIES:
        raise UserError(f"A corruption has severities 1 to 5; got {severity}.")
    if len(images) == 0:
        return images.clone()
    with torch.autocast(device_type=images.device.type, enabled=False):
        draws = Draws(f"{corruption.name}:{seed}:{first}", images.device)
        changed = corruption.change(images.float() / 255, severity, draws)
    return (changed * 255).round_().clamp_(0, 255).to(torch.uint8)


def strength(images: Tensor, severity: int, small: Sequence[float], large: Sequence[float]) -> float:
    """Return the strength of one severity for images of this size, from the tables for 32 and 224 pixels.

    Between these sides it is interpolated along the logarithm of the side; beyond them it stays as it is. That is ours:
    the paper has these two sizes only.

    Args:
        images: ``[B, C, H, W]``.
        severity: 1 to 5.
        small, large: five strengths each, for 32 and for 224 pixels.
    """
    low, high = small[severity - 1], large[severity - 1]
    share = math.log(side(images) / SMALL) / math.log(LARGE / SMALL)
    return low + (high - low) * min(1.0, max(0.0, share))


def length(images: Tensor, severity: int, small: Sequence[float], large: Sequence[float]) -> float:
    """Return a strength in pixels: :func:`strength`, growing and shrinking with the side beyond 32 and 224 pixels."""
    pixels = strength(images, severity, small, large)
    return pixels * min(1.0, side(images) / SMALL) * max(1.0, side(images) / LARGE)


def side(images: Tensor) -> int:
    """Return the shorter side of ``[B, C, H, W]``, pixels."""
    return min(images.shape[2:])
