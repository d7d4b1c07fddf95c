"""The layout of queries: which gallery items match each at which level, and how queries are split into chunks; from
labels alone.

Computed with numpy on the host and copied to the device once, so that a loss on a GPU waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import host, send

# Similarities lie in [-1, 1]; a filler this far away has a sigmoid of exactly zero at any allowed temperature.
FAR = 1e4


@dataclass(frozen=True, kw_only=True)
class GalleryLayout:
    """Gallery items of every distinct query label row, finest match first.

    Attributes:
        order: ``[U, G]`` int32 gallery indices; inside a level, in gallery order.
        counts: ``[U, L + 1]`` int64, items that agree on exactly v label columns.
        row: ``[B]`` int64, the label row of each query.
    """

    order: np.ndarray
    counts: np.ndarray
    row: np.ndarray

    @property
    def ends(self) -> np.ndarray:
        """``[U, L + 1]`` int64, where each level ends in ``order``, finest level first."""
        return np.ascontiguousarray(self.counts[:, ::-1].cumsum(1))

    @property
    def positives(self) -> np.ndarray:
        """``[U]`` int64, items that agree on any label column."""
        count: np.ndarray = self.counts[:, 1:].sum(1)
        return count


def make_layout(labels: Tensor, gallery_labels: Tensor) -> GalleryLayout:
    """Group the gallery by level count for each distinct row of ``labels``.

    Args:
        labels: ``[B, L]`` integers.
        gallery_labels: ``[G, L]`` integers.
    """
    rows, columns = host(labels), host(gallery_labels)
    distinct, row = _distinct(rows)
    depth = rows.shape[1]
    missing = np.full((len(distinct), len(columns)), depth, dtype=np.uint8)
    for column in range(depth):
        missing -= distinct[:, column, None] == columns[None, :, column]
    counts = np.stack([np.count_nonzero(missing == depth - v, axis=1) for v in range(depth + 1)], axis=1)
    order = np.empty(missing.shape, dtype=np.int32)
    for some, their in zip(_blocks(order), _blocks(missing), strict=True):
        some[:] = their.argsort(axis=1, kind="stable")  # of small numbers a counting sort
    return GalleryLayout(order=order, counts=counts.astype(np.int64), row=row)


def _blocks(table: np.ndarray) -> list[np.ndarray]:
    """Split a table into views of some rows each, of about a million entries."""
    step = max(1, (1 << 20) // max(1, table.shape[1]))
    return [table[first : first + step] for first in range(0, len(table), step)]


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows ``[U, L]`` and the number of each row among them, ``[B]`` int64."""
    turn = np.lexsort(rows.T[::-1])
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[turn[1:]] != rows[turn[:-1]]).any(1)
    number = np.empty(len(rows), dtype=np.int64)
    number[turn] = new.cumsum() - 1
    return rows[turn[new]], number


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Queries that are computed together, as a slice of a list of queries, and the largest count of each level."""

    part: slice
    most: tuple[int, ...]


def chunks(
    layout: GalleryLayout, budget: int, *, every: bool = False, least: np.ndarray | None = None
) -> tuple[np.ndarray, list[Chunk]]:
    """Order queries with enough positives, similar compositions together, as many as fit ``budget`` padded pairs.

    Args:
        layout: the layout of all queries.
        budget: pairs that a chunk may hold; a chunk has at least one query.
        every: pairs are (positive, any item) instead of (item, item of a lower level).
        least: ``[B]``, the number of positives below which a query is left out; None: one.

    Returns:
        ``[A]`` int64 queries and the chunks, parts of it one after another.
    """
    asking = np.flatnonzero(layout.positives[layout.row] >= (1 if least is None else least))
    sizes = layout.counts[layout.row[asking]]
    turn = np.lexsort(sizes.T[::-1])
    return asking[turn], list(_cut([tuple(size) for size in sizes[turn].tolist()], budget, every))


def _cut(sizes: Sequence[tuple[int, ...]], budget: int, every: bool) -> Iterator[Chunk]:
    most: tuple[int, ...] = ()
    first, room = 0, 0
    for number, size in enumerate(sizes):
        grown, needed = most, room
        if size != most:
            grown = tuple(map(max, most, size)) if number > first else size
            needed = _pairs(grown, every)
        if number > first and (number + 1 - first) * needed > budget:
            yield Chunk(part=slice(first, number), most=most)
            first, grown, needed = number, size, _pairs(size, every)
        most, room = grown, needed
    if sizes:
        yield Chunk(part=slice(first, len(sizes)), most=most)


def _pairs(size: tuple[int, ...], every: bool) -> int:
    """Return the size of the largest block of pairs of one query, never less than the gallery itself."""
    if every:
        return max(1, sum(size[1:])) * sum(size)
    return max(sum(size), *(size[v] * sum(size[:v]) for v in range(1, len(size))))


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A :class:`GalleryLayout` on the device of the similarities, for a list of queries.

    Attributes:
        order: ``[U, G]`` int32; counts: ``[U, L + 1]`` int64.
        queries: ``[A]`` int64; row: ``[A]`` int64, their label rows.
        self_index: ``[A]`` int64, the gallery item that is the query itself, -1 where none is.
    """

    order: Tensor
    counts: Tensor
    queries: Tensor
    row: Tensor
    self_index: Tensor


def send_layout(
    layout: GalleryLayout, queries: np.ndarray, self_index: np.ndarray | None, device: torch.device
) -> Sent:
    """Copy to the device, in one transfer that the host does not wait for, what :class:`Sent` holds.

    Args:
        layout: the layout of all queries.
        queries: ``[A]`` int64.
        self_index: ``[B]`` int64, as in :class:`trainers.losses._batch.Batch`; None: none is anywhere.
        device: of the similarities.
    """
    mine = np.full(len(queries), -1) if self_index is None else self_index[queries]
    parts = (layout.order, layout.counts, queries, layout.row[queries], mine)
    packed = torch.from_numpy(np.concatenate([part.ravel().astype(np.int32, copy=False) for part in parts]))
    there = send(packed, device).split([part.size for part in parts])
    order, counts, *rest = (piece.view(part.shape) for piece, part in zip(there, parts, strict=True))
    asked, row, itself = (piece.long() for piece in rest)
    return Sent(order=order, counts=counts.long(), queries=asked, row=row, self_index=itself)


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
