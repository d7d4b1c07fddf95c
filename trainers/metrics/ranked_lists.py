"""A block of ranked lists, kept as its relevant items alone, and the quantities that metrics read from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import send


@dataclass(frozen=True, kw_only=True)
class Codes:
    """The meaning of a pair's code. Code 0 is irrelevant; a higher code shares at least as many levels.

    Attributes:
        level: int64 ``[K]``, number of label columns on which the pair agrees, never falling.
        match: bool ``[L, K]``, whether it agrees on column l.
        bits: how many low bits of a sort key hold a code.
        tree: agreeing on a column implies agreeing on all coarser ones; a code is then the level itself.
    """

    level: Tensor
    match: Tensor
    bits: int
    tree: bool

    @property
    def depth(self) -> int:
        """Number of levels L."""
        return len(self.match)


@dataclass(frozen=True, kw_only=True)
class RankedBlock:
    """The relevant items of b ranked lists of length G, list after list, best first. P items in all.

    Attributes:
        codes: ``[b, G]``, the whole lists.
        legend: what the codes mean.
        row: int64 ``[P]``, list of each item.
        rank: int64 ``[P]``, 1-based position of each item in its list.
        code: int64 ``[P]``.
        start: int64 ``[b]``, index of each list's first item; ``size``: int64 ``[b]``, its number of items.
    """

    codes: Tensor
    legend: Codes
    row: Tensor
    rank: Tensor
    code: Tensor
    start: Tensor
    size: Tensor

    @classmethod
    def of(cls, codes: Tensor, legend: Codes, sizes: np.ndarray) -> RankedBlock:
        """Make it from codes ``[b, G]`` in ranked order.

        Args:
            sizes: int64 ``[b]``, relevant items of each list; known beforehand, so that a GPU is not waited for.
        """
        flat, total, size = codes.reshape(-1), int(sizes.sum()), send(sizes, codes.device)
        position = flat.nonzero() if flat.device.type == "cpu" else torch.nonzero_static(flat, size=total)
        position = position[:, 0]
        row = torch.arange(len(codes), device=codes.device).repeat_interleave(size, output_size=total)
        return cls(
            codes=codes,
            legend=legend,
            row=row,
            rank=position - row * codes.shape[1] + 1,
            code=flat.index_select(0, position).long(),
            start=size.cumsum(0) - size,
            size=size,
        )

    @cached_property
    def level(self) -> Tensor:
        """int64 ``[P]``: levels shared with the query, 1 to L."""
        return self.code if self.legend.tree else self.legend.level.index_select(0, self.code)

    @cached_property
    def counts(self) -> Tensor:
        """int64 ``[b, L + 1]``: items that share exactly v levels; column 0 is unused."""
        ends = torch.cat([self.start, self.start[-1:] + self.size[-1:]])
        columns = [torch.zeros_like(self.size)]
        for v in range(1, self.legend.depth + 1):
            columns.append(_before(self.level == v).index_select(0, ends).diff())
        return torch.stack(columns, 1)

    @cached_property
    def so_far(self) -> tuple[Tensor, ...]:
        """For each level v = 1..L, int64 ``[P]``: items of exactly v in the list up to and including each item."""
        return tuple(self.running(self.level == v) for v in range(1, self.legend.depth + 1))

    def hits_so_far(self, column: int) -> Tensor:
        """Return int64 ``[P]``: items that agree with the query on a label column, up to and including each item."""
        if not self.legend.tree:
            return self.running(self.matches(column))
        finer = self.so_far[self.legend.depth - column - 1 :]
        return sum(finer[1:], start=finer[0])

    def matches(self, column: int) -> Tensor:
        """Return bool ``[P]``: whether each item agrees with the query on a label column."""
        if self.legend.tree:
            return self.code >= self.legend.depth - column
        return self.legend.match[column].index_select(0, self.code)

    def running(self, chosen: Tensor) -> Tensor:
        """Count the ``chosen`` (bool ``[P]``) items of each list up to and including each item: int64 ``[P]``."""
        total = _before(chosen)
        return total[1:] - self.spread(total.index_select(0, self.start))

    def spread(self, per_list: Tensor) -> Tensor:
        """Repeat a value of each list ``[b]`` beside each of its items ``[P]``."""
        return per_list.repeat_interleave(self.size, output_size=len(self.row))

    def per_list(self, values: Tensor) -> Tensor:
        """Sum ``values [P]`` within each list: float64 ``[b]``."""
        return torch.segment_reduce(values.double(), "sum", lengths=self.size, unsafe=True)


def _before(chosen: Tensor) -> Tensor:
    """Count the chosen before each position: int64 ``[P + 1]``."""
    total = torch.zeros(len(chosen) + 1, dtype=torch.int64, device=chosen.device)
    torch.cumsum(chosen, 0, out=total[1:])
    return total


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
