"""Exact nearest neighbours on the unit sphere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.retrieval.indexes import faiss_library

MANY = 10_000
"""Of more points a map follows the one before at less cost: see :mod:`explorer.layout.local_join`."""
_SPARE = 4  # more are asked for than needed, so that ties at the edge of the list are broken by index


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The nearest others of every point, nearest first, ties by index.

    Attributes:
        ids: int32 ``[P, K]``; the point itself is never among them.
        similarities: float32 ``[P, K]``, cosines.
    """

    ids: np.ndarray
    similarities: np.ndarray


def nearest(embeddings: np.ndarray, k: int, queries: np.ndarray | None = None) -> Neighbours:
    """Find the ``min(k, P - 1)`` nearest neighbours by cosine, by comparing with all points.

    Args:
        embeddings: float ``[P, D]``; rows are brought to unit length, rows that are not finite count as zero.
        k: how many neighbours.
        queries: int ``[Q]``, the points whose neighbours are wanted; None: all.
    """
    rows = unit_rows(embeddings)
    count = len(rows)
    asked = np.arange(count) if queries is None else queries
    k = min(k, count - 1)
    if k < 1:
        return Neighbours(ids=np.zeros((len(asked), 0), np.int32), similarities=np.zeros((len(asked), 0), np.float32))
    similarities, ids = _search(rows, rows if queries is None else rows[queries], min(k + 1 + _SPARE, count))
    # the point itself is known by its index, not by its rank: duplicates are as similar as it is
    similarities = np.where(ids == asked[:, None], -np.inf, similarities)
    order = np.lexsort((ids, -similarities), axis=-1)[:, :k]
    return Neighbours(
        ids=np.take_along_axis(ids, order, axis=1).astype(np.int32),
        similarities=np.take_along_axis(similarities, order, axis=1).astype(np.float32),
    )


def unit_rows(embeddings: np.ndarray) -> np.ndarray:
    """Copy rows as float32 of length one; zero rows and rows that are not finite become zero."""
    rows = np.nan_to_num(np.asarray(embeddings, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(length > 0, length, 1))


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    """Return the mean share of each row of ``first`` ``[P, K]`` that the same row of ``second`` ``[P, M]`` contains."""
    if not first.size:
        return 1.0
    return float((first[:, :, None] == second[:, None, :]).any(axis=2).mean())


def _search(rows: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    faiss = faiss_library()
    if faiss is None:
        return _search_by_blocks(rows, queries, k)
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return index.search(queries, k)


def _search_by_blocks(
    rows: np.ndarray, queries: np.ndarray, k: int, block: int = 1024
) -> tuple[np.ndarray, np.ndarray]:
    """Find the ``k`` largest products of every query, in no particular order; used without faiss."""
    similarities = np.empty((len(queries), k), np.float32)
    ids = np.empty((len(queries), k), np.int64)
    for start in range(0, len(queries), block):
        products = queries[start : start + block] @ rows.T
        best = np.argpartition(-products, k - 1, axis=1)[:, :k]
        ids[start : start + block] = best
        similarities[start : start + block] = np.take_along_axis(products, best, axis=1)
    return similarities, ids
