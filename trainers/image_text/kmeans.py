"""K-means of unit vectors by their cosine, the same for the same vectors and seed."""

from __future__ import annotations

import numpy as np

_STARTS = 10
_MOST_ROUNDS = 100


def kmeans(unit: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Cluster unit vectors by spherical k-means, of ten k-means++ starts the one with the largest sum of cosines.

    Args:
        unit: float64 [N, D], rows of length 1.
        count: of clusters, 1 to N; each gets a vector or more.

    Returns:
        int64 [N]; clusters are numbered in the order of their first vectors.
    """
    best, most = np.zeros(len(unit), dtype=np.int64), -np.inf
    for start in range(_STARTS):
        labels, total = _from_start(unit, count, np.random.default_rng((seed, start)))
        if total > most + 1e-9:
            best, most = labels, total
    _, first, inverse = np.unique(best, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int64)


def centres(unit: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """Return the mean directions of clusters, float64 [count, D] of length 1; 0 where vectors cancel out."""
    sums = np.zeros((count, unit.shape[1]))
    np.add.at(sums, labels, unit)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


def _from_start(unit: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    centre = unit[_spread(unit, count, rng)]
    labels = np.full(len(unit), -1)
    for _ in range(_MOST_ROUNDS):
        cosines = unit @ centre.T
        chosen = _without_empty(cosines.argmax(1), cosines, count)
        if (chosen == labels).all():
            break
        labels = chosen
        centre = centres(unit, labels, count)
    return labels, float((unit * centre[labels]).sum())


def _spread(unit: np.ndarray, count: int, rng: np.random.Generator) -> list[int]:
    """Choose vectors to begin with as k-means++ does: each with a chance that grows with its squared distance."""
    chosen = [int(rng.integers(len(unit)))]
    distance = np.full(len(unit), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.clip(1 - unit @ unit[chosen[-1]], 0, None))
        distance[chosen] = 0
        if distance.sum() > 1e-12:
            chosen.append(int(rng.choice(len(unit), p=distance / distance.sum())))
        else:  # the rest are equal to some of these
            chosen.append(min({*range(len(unit))} - {*chosen}))
    return chosen


def _without_empty(labels: np.ndarray, cosines: np.ndarray, count: int) -> np.ndarray:
    """Give every cluster without vectors the one that is farthest from its centre, of a cluster with several."""
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=count)
    for empty in np.flatnonzero(sizes == 0):
        near = np.where(sizes[labels] > 1, cosines[np.arange(len(labels)), labels], np.inf)
        row = int(near.argmin())
        sizes[labels[row]] -= 1
        sizes[empty] = 1
        labels[row] = empty
    return labels
