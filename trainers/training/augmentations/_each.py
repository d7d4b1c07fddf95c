"""Applies a transform of torchvision to each image of a batch, with random numbers of its own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainers.training.augmentations._crop import random_crop
from trainers.training.augmentations._draws import Draws
from trainers.training.augmentations._flip import flip
from trainers.training.augmentations._pieces import in_pieces
from trainers.training.augmentations.base import COLOUR, Change, unit

SEEDS = 2**32


def each(images: Tensor, draws: Draws, transform: Callable[[Tensor], Tensor]) -> Tensor:
    """Change every image; torchvision's transforms have one draw for a batch, so they get the images one by one.

    They draw on torch's CPU generator, which is seeded for each image and then put back as it was. On a GPU the images
    stay there, but some of torchvision's operations wait for it.

    Args:
        images: float ``[B, C, H, W]`` in 0..1.
        transform: from uint8 ``[C, H, W]`` to the same.
    """
    pixels = images.mul(255).round_().to(torch.uint8)
    seeds = (draws.take(1)[:, 0] * SEEDS).long().tolist()
    with torch.random.fork_rng(devices=[]):
        changed = []
        for image, seed in zip(pixels, seeds, strict=True):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed the GPUs too
            changed.append(transform(image))
    return torch.stack(changed).float().div_(255)


def crop_and_each(transform: Callable[[Tensor], Tensor], *, smallest: float, channels: int) -> Change:
    """Make a resized crop, a mirror where images have colours, then ``transform`` on each image, see :func:`each`.

    Args:
        smallest: share of the area that the smallest crop has.
    """

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, smallest)
        if channels == COLOUR:
            pixels = flip(pixels, draws.chosen(0.5))
        return each(pixels, draws, transform)

    return in_pieces(change)
