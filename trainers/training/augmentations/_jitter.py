"""Colour jitter: brightness, contrast, saturation and hue of each image, in an order of its own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.devices.host import send
from trainers.training.augmentations._draws import Draws
from trainers.training.augmentations._grey import luminance

CHANGES = 4  # brightness, contrast, saturation, hue
_CONTRAST, _SATURATION, _HUE = 1, 2, 3
_MOST_HUE = 0.5  # half the colour circle: further is back again


@dataclass(frozen=True, kw_only=True)
class Jitter:
    """The strength of a change of colours: factors are drawn from 1 - x to 1 + x and not below 0, a hue from -x to x of
    the circle.

    Attributes:
        strength: multiplies the four.
    """

    brightness: float = 0.4
    contrast: float = 0.4
    saturation: float = 0.4
    hue: float = 0.4
    strength: float = 1.0

    def drawn(self, draws: Draws) -> tuple[Tensor, Tensor]:
        """Draw factors float64 ``[B, 4]`` and orders int64 ``[B, 4]``, as :func:`jitter` takes them."""
        limits = torch.tensor([self.brightness, self.contrast, self.saturation, self.hue], dtype=torch.float64)
        limits *= self.strength
        limits[_HUE] = limits[_HUE].clamp(max=_MOST_HUE)
        spread = (2 * draws.take(CHANGES) - 1) * limits
        factors = torch.cat([(1 + spread[:, :_HUE]).clamp(min=0), spread[:, _HUE:]], 1)
        return factors, draws.take(CHANGES).argsort(1)


def random_jitter(images: Tensor, draws: Draws, how: Jitter, probability: float = 1.0) -> Tensor:
    """Change the colours of float ``[B, 3, H, W]`` in 0..1, of each image with ``probability``."""
    factors, orders = how.drawn(draws)
    same = torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64)
    factors = torch.where(draws.chosen(probability)[:, None], factors, same)
    return jitter(images, factors, orders)


def jitter(images: Tensor, factors: Tensor, orders: Tensor) -> Tensor:
    """Change the colours of every image; after each change they are clamped to 0..1, as in torchvision.

    Args:
        images: float ``[B, 3, H, W]`` in 0..1.
        factors: float ``[B, 4]`` on the CPU: of brightness, contrast and saturation, 1 for no change, and the shift of
            the hue in turns, 0 for none.
        orders: int64 ``[B, 4]`` on the CPU: which of these four comes first, second, ...
    """
    for turn in range(CHANGES):
        change = orders[:, turn]
        factor = factors.gather(1, change[:, None])[:, 0]
        images = _blend(images, change, torch.where(change == _HUE, 1.0, factor))
        rows = ((change == _HUE) & (factor != 0)).nonzero()[:, 0]
        if len(rows):
            rows, shift = send(rows, images.device), send(factor[rows].float(), images.device)
            images.index_copy_(0, rows, shift_hue(images.index_select(0, rows), shift))
    return images


def shift_hue(images: Tensor, shift: Tensor) -> Tensor:
    """Turn the hues of float ``[B, 3, H, W]`` in 0..1 by ``shift`` turns, float ``[B]`` on the same device."""
    red, green, blue = images.unbind(1)
    value, low = images.amax(1), images.amin(1)
    spread = value - low
    safe = torch.where(spread > 0, spread, 1.0)
    hue = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = hue + 6 * shift[:, None, None]  # sextants of the colour circle
    sextants = [(hue + start).remainder_(6) for start in (5, 3, 1)]
    return torch.stack([value - spread * torch.minimum(at, 4 - at).clamp_(0, 1) for at in sextants], 1)


def _blend(images: Tensor, change: Tensor, factor: Tensor) -> Tensor:
    """Change brightness, contrast or saturation: each image is mixed with black, its mean grey or its own grey."""
    grey = luminance(images)
    shape = (len(images), 1, 1, 1)
    to_mean, to_own, factor = (
        send(part.float().reshape(shape), images.device)
        for part in (change == _CONTRAST, change == _SATURATION, factor)
    )
    base = grey.mean((2, 3), keepdim=True) * to_mean + grey * to_own
    return torch.lerp(base, images, factor).clamp_(0, 1)
