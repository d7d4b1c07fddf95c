"""What changes images: crops, mirroring, grey, colour jitter and blur, for whole batches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import Tensor

from trainers.devices.host import send
from trainers.training.augmentations.base import Change, Draws

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


ATTEMPTS = 10  # to fit a rectangle into the image, as in torchvision; then the whole image is taken
ASPECT = 4 / 3  # of width to height, at most, and of height to width


def random_crop(images: Tensor, draws: Draws, smallest: float) -> Tensor:
    """Crop every image at random.

    The rectangles are drawn as by torchvision's RandomResizedCrop: an area, a logarithm of the aspect ratio, a place,
    each uniform. They need not begin at whole pixels.

    Args:
        images: float ``[B, C, H, W]``.
        draws: of the batch.
        smallest: share of the image's area, 0..1; the largest is 1.
    """
    height, width = images.shape[-2:]
    return crop(images, rectangles(draws, height, width, smallest))


def rectangles(draws: Draws, height: int, width: int, smallest: float) -> Tensor:
    """Draw random rectangles float64 ``[B, 4]``: left, top, width and height, in pixels."""
    area = height * width * (smallest + (1 - smallest) * draws.take(ATTEMPTS))
    aspect = torch.exp(math.log(ASPECT) * (2 * draws.take(ATTEMPTS) - 1))
    corner = draws.take(2)
    wide, high = (area * aspect).sqrt(), (area / aspect).sqrt()
    fits = (wide <= width) & (high <= height)
    first = fits.int().argmax(1, keepdim=True)
    none = ~fits.any(1)
    wide = wide.gather(1, first)[:, 0].masked_fill(none, width)
    high = high.gather(1, first)[:, 0].masked_fill(none, height)
    return torch.stack([corner[:, 0] * (width - wide), corner[:, 1] * (height - high), wide, high], 1)


def crop(images: Tensor, boxes: Tensor) -> Tensor:
    """Stretch a rectangle of each image to the size of the image.

    Bilinear, pixels at their centres, and next to a rectangle's edge the image's own pixels beyond it. There is no
    smoothing before: a rectangle is never larger than the result, so nothing is made smaller, and an antialiasing
    filter, which widens as an image shrinks, would be the same bilinear one.

    Args:
        images: float ``[B, C, H, W]``.
        boxes: float ``[B, 4]`` on the CPU: left, top, width and height in pixels, inside the image.
    """
    height, width = images.shape[-2:]
    left, top, wide, high = boxes.double().unbind(1)
    across = send(_samples(left, wide, width), images.device)[:, None, :]
    down = send(_samples(top, high, height), images.device)[:, :, None]
    grid = torch.stack(torch.broadcast_tensors(across, down), -1)
    return F.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _samples(start: Tensor, length: Tensor, side: int) -> Tensor:
    """Return where each pixel samples, float32 ``[B, side]``; -1..1 from edge to edge, as in ``grid_sample``."""
    centres = (torch.arange(side, dtype=torch.float64) + 0.5) / side
    return (2 * (start[:, None] + length[:, None] * centres) / side - 1).float()


def flip(images: Tensor, which: Tensor) -> Tensor:
    """Mirror those of ``[B, C, H, W]`` that ``which``, bool ``[B]`` on the CPU, names."""
    return torch.where(send(which, images.device)[:, None, None, None], images.flip(-1), images)


WEIGHTS = (0.2989, 0.587, 0.114)
"""Of red, green and blue in the luminance, as in torchvision."""


def luminance(images: Tensor) -> Tensor:
    """Return the luminance, float ``[B, 1, H, W]``, of colour images float ``[B, 3, H, W]``."""
    red, green, blue = images.unbind(1)
    return (WEIGHTS[0] * red).add_(green, alpha=WEIGHTS[1]).add_(blue, alpha=WEIGHTS[2])[:, None]


def grey(images: Tensor, which: Tensor) -> Tensor:
    """Replace the colours of those of float ``[B, 3, H, W]`` that ``which``, bool ``[B]`` on the CPU, names."""
    return torch.where(send(which, images.device)[:, None, None, None], luminance(images), images)


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
