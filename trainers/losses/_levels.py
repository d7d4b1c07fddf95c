"""Which gallery items match a query, and how finely: a layout shared by all queries of one label row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# Similarities lie in [-1, 1]; a filler this far away has a sigmoid of exactly zero at any allowed temperature.
FAR = 1e4


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Gallery items of every distinct query label row, finest match first.

    Attributes:
        order: ``[U, G]`` int64 gallery indices; inside a level, in gallery order.
        counts: ``[U, L + 1]`` int64, items that agree on exactly v label columns.
        row: ``[B]`` int64, the label row of each query.
        sizes: ``counts`` as Python numbers, for planning without waiting on a device.
        rows: ``row`` as Python numbers.
    """

    order: Tensor
    counts: Tensor
    row: Tensor
    sizes: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]


def layout(labels: Tensor, gallery_labels: Tensor) -> Layout:
    """Group the gallery by level count for each distinct row of ``labels``.

    Args:
        labels: ``[B, L]`` integers.
        gallery_labels: ``[G, L]`` integers.
    """
    distinct, row = torch.unique(labels, dim=0, return_inverse=True)
    depth = labels.shape[1]
    levels = torch.zeros(len(distinct), len(gallery_labels), dtype=torch.uint8, device=labels.device)
    for column in range(depth):
        levels += distinct[:, column, None] == gallery_labels[None, :, column]
    counts = torch.stack([(levels == v).sum(1) for v in range(depth + 1)], dim=1)
    # A counting sort: position = items of finer levels + items of this level to the left.
    place = torch.zeros(levels.shape, dtype=torch.int64, device=labels.device)
    before = torch.zeros(len(distinct), 1, dtype=torch.int64, device=labels.device)
    for v in range(depth, -1, -1):
        here = levels == v
        place = torch.where(here, here.cumsum(1) + (before - 1), place)
        before = before + counts[:, v, None]
    index = torch.arange(levels.shape[1], device=labels.device).expand_as(place)
    order = torch.empty_like(place).scatter_(1, place, index)
    sizes = tuple(tuple(line) for line in counts.tolist())
    return Layout(order=order, counts=counts, row=row, sizes=sizes, rows=tuple(row.tolist()))


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Queries that are worked on together: their indices and the largest count of each level among them."""

    queries: tuple[int, ...]
    most: tuple[int, ...]


def chunks(plan: Layout, budget: int, *, every: bool = False, least: Sequence[int] | None = None) -> Iterator[Chunk]:
    """Queries with enough positives, similar compositions together, as many as fit ``budget`` padded pairs.

    Args:
        plan: the layout of all queries.
        budget: pairs a chunk may hold; one query is always let through.
        every: pairs are (positive, any item) instead of (item, item of a lower level).
        least: for each query the number of positives below which it is left out; None: one.
    """
    least = least or [1] * len(plan.rows)
    with_positive = [q for q, row in enumerate(plan.rows) if sum(plan.sizes[row][1:]) >= least[q]]
    with_positive.sort(key=lambda q: plan.sizes[plan.rows[q]])
    held: list[int] = []
    most: tuple[int, ...] = ()
    for query in with_positive:
        size = plan.sizes[plan.rows[query]]
        grown = size if size == most or not held else tuple(max(pair) for pair in zip(most, size, strict=True))
        if held and (len(held) + 1) * _pairs(grown, every) > budget:
            yield Chunk(queries=tuple(held), most=most)
            held, grown = [], size
        held.append(query)
        most = grown
    if held:
        yield Chunk(queries=tuple(held), most=most)


def _pairs(size: tuple[int, ...], every: bool) -> int:
    """The largest block of pairs of one query, never less than the gallery itself."""
    if every:
        return max(1, sum(size[1:])) * sum(size)
    return max(sum(size), *(size[v] * sum(size[:v]) for v in range(1, len(size))))


def segment(values: Tensor, start: Tensor, count: Tensor, width: int, filler: float) -> tuple[Tensor, Tensor]:
    """Cut ``count`` entries from ``start`` out of each row, filled up to ``width``.

    Args:
        values: ``[b, G]``.
        start: ``[b]`` int64.
        count: ``[b]`` int64.
        width: largest count.
        filler: value of the entries beyond ``count``.

    Returns:
        ``[b, width]`` values and the ``[b, width]`` int64 positions they came from (0 for fillers).
    """
    steps = torch.arange(width, device=values.device)
    inside = steps < count[:, None]
    at = torch.where(inside, start[:, None] + steps, 0)
    return values.gather(1, at).masked_fill(~inside, filler), at
