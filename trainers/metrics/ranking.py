"""Quantities that metrics read from ranked lists: hits, precision and number of relevant items, per label column."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from trainers.metrics.ranked_lists import RankedBlock


class Lists:
    """A block of b ranked lists; what several metrics need is computed once."""

    def __init__(self, block: RankedBlock) -> None:
        self.block = block
        self._columns: dict[int, Column] = {}

    def column(self, level: int) -> Column:
        """Return the lists, relevant what agrees with the query on label column ``level``, 0 the finest."""
        if level not in self._columns:
            self._columns[level] = Column(self.block, level)
        return self._columns[level]


class Column:
    """Ranked lists of relevant and irrelevant items: rel(r) in {0, 1}, R relevant ones in a list.

    Attributes:
        hit: float64 ``[P]``, rel of each item that shares any level.
        relevant: float64 ``[b]``, R.
    """

    def __init__(self, block: RankedBlock, level: int) -> None:
        self._block = block
        self._level = level
        self.rank = block.rank.double()
        self.hit = block.matches(level).double()
        self.relevant = block.per_list(self.hit)

    @cached_property
    def precision(self) -> Tensor:
        """P(r) rel(r), the precision at each relevant item: float64 ``[P]``."""
        return self._block.hits_so_far(self._level) / self.rank * self.hit

    def cut(self, k: int | None) -> Tensor:
        """Return the same cut-off for every list: float64 ``[b]``.

        Raises:
            ValueError: there is none, as in the name of a metric without one.
        """
        if k is None:
            raise ValueError("A metric with a cut-off in its definition needs one in its name.")
        return torch.full_like(self.relevant, k)

    def hits(self, cut: Tensor) -> Tensor:
        """Return the relevant items up to rank ``cut [b]``: float64 ``[b]``."""
        return self._block.per_list(self.hit * self._within(cut))

    def average_precision(self, cut: Tensor | None = None) -> Tensor:
        """Sum of P(r) rel(r) up to rank ``cut [b]`` (None: all) over min(R, cut): float64 ``[b]``."""
        if cut is None:
            return self.defined(self._block.per_list(self.precision) / self.relevant)
        total = self._block.per_list(self.precision * self._within(cut))
        return self.defined(total / torch.minimum(cut, self.relevant))

    def defined(self, values: Tensor) -> Tensor:
        """Return the values ``[b]``, NaN for lists without a relevant item."""
        return values.masked_fill(self.relevant == 0, torch.nan)

    def _within(self, cut: Tensor) -> Tensor:
        return self.rank <= self._block.spread(cut)
