"""Random numbers of a batch, apart from torch's global generators."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

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
