"""Compares the query with every vector; needs no library and nothing is built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trainers.progress import Progress
from trainers.retrieval.indexes.base import IndexDescriptor, Size
from trainers.retrieval.vectors import Vectors

MOST = 2**24
"""Numbers of a gallery up to which a search takes some milliseconds."""


@dataclass(frozen=True)
class Flat:
    """Exact search; equal similarities by row."""

    vectors: Vectors

    def search(self, queries: np.ndarray, k: int) -> np.ndarray:
        """See :class:`trainers.retrieval.indexes.base.Index`."""
        best = np.full((len(queries), 0), -np.inf, np.float32)
        rows = np.zeros((len(queries), 0), np.int64)
        for first, block in self.vectors.blocks():
            products = queries @ block.T
            numbers = np.broadcast_to(np.arange(first, first + len(block)), products.shape)
            best, rows = _best(np.hstack([best, products]), np.hstack([rows, numbers]), k)
        return np.pad(rows, ((0, 0), (0, k - rows.shape[1])), constant_values=-1)

    def write(self, path: Path) -> None:
        """Write nothing: nothing is kept."""


def _best(similarity: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` largest of each line with their rows, the largest first, equal ones by row."""
    if similarity.shape[1] > 2 * k:
        edge = np.partition(similarity, -k, axis=1)[:, -k:].min(axis=1, keepdims=True)
        keep = max(k, int((similarity >= edge).sum(axis=1).max()))
        chosen = np.argpartition(-similarity, keep - 1, axis=1)[:, :keep]
        similarity, rows = (np.take_along_axis(table, chosen, axis=1) for table in (similarity, rows))
    order = np.lexsort((rows, -similarity), axis=-1)[:, :k]
    return np.take_along_axis(similarity, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _suits(size: Size) -> str | None:
    if size.count * size.dim > MOST:
        return None
    return f"{size.count:,} images are few enough to be compared one by one."


def _build(vectors: Vectors, _parameters: Any, _progress: Progress) -> Flat:
    return Flat(vectors)


DESCRIPTOR = IndexDescriptor(
    name="flat",
    title="Flat",
    sentence="Compares the query with every image: exact.",
    exact=True,
    suits=_suits,
    build=_build,
    order=1,
)
