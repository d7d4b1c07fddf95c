"""The training pairs of one arm, and its batch at any step: a pure function of the seed and the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.errors import DataError
from trainers.mending.recipes import Recipe
from trainers.samplers.walk import permutation, shuffled

SMALLEST = 8  # pairs of a batch; batch normalisation and in-batch negatives mean little below


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Photos, each with one or more sentences.

    Attributes:
        images: uint8 ``[N, 3, S, S]``.
        tokens: int64 ``[M, L]``, the sentences of all photos one after the other.
        first: int64 ``[N + 1]``, where the sentences of photo i begin; those of the next one end them.
    """

    images: Tensor
    tokens: Tensor
    first: np.ndarray

    @classmethod
    def of(cls, images: Tensor, tokens: Tensor, counts: Sequence[int]) -> Pool:
        """From the number of sentences of each photo."""
        return cls(images=images, tokens=tokens, first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.images)


class Examples:
    """Originals and object-removed pairs of one recipe.

    Every epoch shows each photo once, in an order of its own, with the next of its sentences. Subsets of the removed
    photos are nested, so that a larger ratio adds to what a smaller one shows.

    Args:
        originals, removed: D and D'; the second is None if the recipe has none.
        recipe: which parts of them to use.
        batch: pairs in a step; fewer where there are fewer.
        seed: of all orders.

    Raises:
        DataError: fewer pairs than a batch needs.
    """

    def __init__(self, originals: Pool, removed: Pool | None, recipe: Recipe, *, batch: int, seed: int) -> None:
        self._pools = (originals, removed)
        self._seed = seed
        count = 0 if removed is None or not recipe.removed else len(removed)
        if count and recipe.ratio is not None:
            count = max(1, min(count, round(recipe.ratio * len(originals))))
        own = {"all": len(originals), "matched": min(len(originals), len(removed or ())), "none": 0}[recipe.originals]
        self.originals, self.removed = own, count
        self._rows = np.concatenate(
            [_some(len(originals), own, seed), len(originals) + _some(len(removed or ()), count, seed + 1)]
        )
        self.batch = min(batch, len(self))
        if self.batch < SMALLEST:
            raise DataError(f"At least {SMALLEST} pairs of a photo and a sentence are needed; {len(self)} came.")

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, step: int) -> tuple[Tensor, Tensor, np.ndarray]:
        """The batch of a step: photos uint8 ``[B, 3, S, S]``, tokens int64 ``[B, L]`` and rows of the union."""
        per_epoch = len(self) // self.batch  # the rest of an epoch is dropped: every batch is whole
        epoch, place = divmod(step, per_epoch)
        order = shuffled(len(self), self._seed, epoch, 2)
        rows = self._rows[order[place * self.batch : (place + 1) * self.batch]]
        split = len(self._pools[0])
        images, tokens = [], []
        for pool, own in ((self._pools[0], rows[rows < split]), (self._pools[1], rows[rows >= split] - split)):
            if pool is not None and len(own):
                images.append(pool.images[torch.from_numpy(own)])
                tokens.append(pool.tokens[torch.from_numpy(self._sentences(pool, own, epoch))])
        return torch.cat(images), torch.cat(tokens), rows

    def _sentences(self, pool: Pool, rows: np.ndarray, epoch: int) -> np.ndarray:
        """The sentence that each photo shows in an epoch: in turn, begun at a place of its own."""
        counts = pool.first[rows + 1] - pool.first[rows]
        return pool.first[rows] + (rows + epoch) % counts


def _some(count: int, wanted: int, seed: int) -> np.ndarray:
    """``wanted`` of ``count`` rows; a smaller wish is a part of a larger one."""
    if wanted >= count:
        return np.arange(count)
    return permutation(count, seed, 3)[:wanted]
