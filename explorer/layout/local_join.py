"""Nearest neighbours of many points, searched from those that they had in the frame before.

A neighbour of a neighbour is likely to be a neighbour: one local join of NN-descent (Dong, Moses, Li 2011) that starts
from the lists of the last frame instead of random ones. It is not exact, so a sample of points is compared with all
others: this says how many neighbours are missed, and the numbers of a map that count neighbours are taken from it.

pynndescent's join, started from the same lists, misses as many and takes three quarters of the time; but no process
finds it compiled, and compiling takes 45 s, while this one is kept on disk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from explorer.layout.neighbours import Neighbours, map_neighbours, unit_rows

_log = logging.getLogger(__name__)

SAMPLE = 1000
"""Points that are compared with all others."""
LEAST_RECALL = 0.95
"""Where the sample finds that more neighbours are missed, all pairs are compared after all."""
_TIE = 1e-5  # cosines that differ less are those of neighbours that are equally near


@dataclass(frozen=True, kw_only=True)
class Followed:
    """Neighbours that were searched from those of the frame before.

    Attributes:
        near: of every point; those of the sample are exact.
        sample: int64 ``[S]``, the points that were compared with all others.
        recall: share of the nearest neighbours of the sample that the search met by itself.
    """

    near: Neighbours
    sample: np.ndarray
    recall: float


def follow(embeddings: np.ndarray, before: np.ndarray, k: int, seed: int) -> Followed | None:
    """Search the ``k`` nearest neighbours of every point; None where too many would be missed.

    Args:
        embeddings: float ``[P, D]``, more than :data:`SAMPLE` rows.
        before: int ``[P, K]``, the neighbours of the frame before, at least ``k``.
        seed: of the sample.
    """
    if before.shape[1] < k:
        return None
    rows = unit_rows(embeddings)
    ids, similarities = _join()(rows, np.ascontiguousarray(before, np.int32), k)
    sample = np.sort(np.random.default_rng(seed).choice(len(rows), SAMPLE, replace=False))
    exact = map_neighbours(rows, k, sample)
    recall = float((similarities[sample] >= exact.similarities[:, -1:] - _TIE).mean())
    if recall < LEAST_RECALL:
        return None
    ids[sample], similarities[sample] = exact.ids, exact.similarities
    return Followed(near=Neighbours(ids=ids, similarities=similarities), sample=sample, recall=recall)


def warm_up() -> None:
    """Compile the join, which takes a second; compiled code is kept on disk."""
    points = unit_rows(np.random.default_rng(0).normal(size=(40, 4)))
    _join()(points, map_neighbours(points, 5).ids, 5)


@lru_cache(maxsize=1)
def _join() -> Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]:
    import numba

    compiled = numba.njit(fastmath=True)(_joined)
    try:
        compiled.enable_caching()
    except (AttributeError, RuntimeError):
        _log.info("numba: compiled code cannot be kept on disk")
    return compiled


def _joined(rows: np.ndarray, before: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Compare every point with its neighbours and theirs; return the ``k`` nearest, ids and cosines ``[P, k]``."""
    count, dim = rows.shape
    ids = np.zeros((count, k), np.int32)
    similarities = np.full((count, k), np.float32(-2))
    compared_with = np.full(count, -1, np.int32)
    for i in range(count):
        compared_with[i] = i
        for a in range(before.shape[1] + 1):
            via = i if a == 0 else before[i, a - 1]
            for j in before[via]:
                if compared_with[j] == i:
                    continue
                compared_with[j] = i
                similarity = np.float32(0)
                for d in range(dim):
                    similarity += rows[i, d] * rows[j, d]
                if similarity <= similarities[i, k - 1]:
                    continue
                slot = k - 1
                while slot > 0 and similarities[i, slot - 1] < similarity:
                    similarities[i, slot] = similarities[i, slot - 1]
                    ids[i, slot] = ids[i, slot - 1]
                    slot -= 1
                similarities[i, slot] = similarity
                ids[i, slot] = j
    return ids, similarities
