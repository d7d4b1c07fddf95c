"""The interface of augmentations: pure functions of the images and of (seed, step, view), for whole batches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trainers.registry import Descriptor

NUMBERS = 64
"""Per image; a recipe takes what it needs from the front."""


class Draws:
    """Uniform random numbers in 0..1 for each image of a batch, on the CPU, taken column by column.

    Args:
        count: of images of the whole batch.
        seed, step, view: name the numbers.
        rows: the images whose numbers are taken.
    """

    def __init__(self, count: int, *, seed: int, step: int, view: int, rows: slice = slice(None)) -> None:
        self._generator = torch.Generator().manual_seed((seed * 1_000_003 + step) * 8 + view)
        self._count = count
        self._rows = rows
        self._left: Tensor | None = None

    def uniform(self, numbers: int) -> Tensor:
        """Draw float32 ``[count, numbers]``; a recipe uses this, once, or :meth:`take`, not both."""
        return torch.rand(self._count, numbers, generator=self._generator)[self._rows]

    def take(self, numbers: int) -> Tensor:
        """Take the next float64 ``[count, numbers]``; an image's do not depend on how many others there are.

        Raises:
            ValueError: more than :data:`NUMBERS` in all.
        """
        left = self._remaining()
        if numbers > left.shape[1]:
            raise ValueError(f"an image has {NUMBERS} random numbers; {numbers} more were asked for")
        self._left = left[:, numbers:]
        return left[:, :numbers]

    def chosen(self, probability: float) -> Tensor:
        """Draw bool ``[count]``: true with ``probability``, for each image apart."""
        return self.take(1)[:, 0] < probability

    def between(self, low: float, high: float) -> Tensor:
        """Draw float64 ``[count]`` in ``low``..``high``."""
        return low + (high - low) * self.take(1)[:, 0]

    def part(self, start: int, stop: int) -> Draws:
        """Return the remaining numbers of the images from ``start`` to before ``stop``; they stay here, too."""
        part = copy.copy(self)
        part._left = self._remaining()[start:stop]
        return part

    def _remaining(self) -> Tensor:
        if self._left is None:
            self._left = torch.rand(self._count, NUMBERS, dtype=torch.float64, generator=self._generator)[self._rows]
        return self._left


Change = Callable[[Tensor, Draws], Tensor]
"""uint8 ``[B, C, H, W]`` and random numbers for its images -> float32 ``[B, C, H, W]`` in 0..1, on the same device."""

COLOUR = 3
"""Channels of a colour image. Others keep their colours, and are not mirrored: a mirrored letter is another letter."""


@dataclass(frozen=True)
class Augment:
    """A recipe with its parameters, ready for images of so many channels."""

    change: Change

    def __call__(
        self, images: Tensor, *, seed: int, step: int, view: int, count: int | None = None, rows: slice = slice(None)
    ) -> Tensor:
        """Change every image of a batch, or of the part of it that this process has.

        Args:
            images: uint8 ``[B, C, H, W]``, on any device.
            seed, step: of the run; view: which of up to eight views of the batch. The three name the random numbers:
                the same three give the same result on the same device, whatever the global generators hold, which are
                left as they are. The numbers of an image depend on its place in the batch, not on the batch's size.
            count, rows: images of the whole batch, and which of them these are; by default they are the batch.

        Returns:
            float32 ``[B, C, H, W]`` in 0..1 on the device of the images.
        """
        return self.change(images, Draws(count or len(images), seed=seed, step=step, view=view, rows=rows))


@dataclass(frozen=True, kw_only=True)
class AugmentationDescriptor(Descriptor):
    """One entry of the registry of augmentations.

    Attributes:
        paper: where it comes from.
        make: called with checked parameters and the number of channels.
    """

    paper: str
    make: Callable[[Any, int], Change]

    def build(self, parameters: Mapping[str, Any], channels: int) -> Augment:
        """Make it ready for images of ``channels`` channels; parameters by name, missing ones take their defaults.

        Raises:
            ParameterError: a parameter is unknown, of the wrong type or out of range.
        """
        return Augment(self.make(self.checked(parameters), channels))


def unit(images: Tensor) -> Tensor:
    """Convert uint8 pixels to float32 in 0..1."""
    return images.float().div_(255)
