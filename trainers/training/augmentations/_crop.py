"""Random resized crops: a rectangle of each image, stretched to the size of the image."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own convention)
from torch import Tensor

from trainers.devices.host import send
from trainers.training.augmentations._draws import Draws

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
