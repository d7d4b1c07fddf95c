"""Quality of a map: how well it keeps neighbours, how much it moved, and whether the space moved with it."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import rankdata

from explorer.layout.neighbours import overlap
from trainers.metrics.catalogue.maps import NEAREST


def kept_neighbours(xy: np.ndarray, ids: np.ndarray, points: np.ndarray | None = None, k: int = NEAREST) -> float:
    """Return the mean share of each point's ``k`` nearest neighbours in the full space that are among its ``k`` nearest
    in 2-D.

    Args:
        xy: float ``[P, 2]``.
        ids: int ``[P, K]``, neighbours in the full space, nearest first; the first ``k`` count.
        points: int ``[S]``, those that are counted; None: all.

    Returns:
        0..1; 1 when there are no neighbours to lose.
    """
    points = np.arange(len(xy)) if points is None else points
    full = ids[points, :k]
    k = full.shape[1]
    if k == 0:
        return 1.0
    _, near = cKDTree(xy).query(xy[points], k=k + 1)
    # the point itself need not come first among coinciding points: it is removed by index, the farthest if absent
    itself = near == points[:, None]
    itself[~itself.any(axis=1), -1] = True
    return overlap(full, near[~itself].reshape(len(points), k))


def drift(xy: np.ndarray, previous: np.ndarray) -> float:
    """Return the median distance moved since ``previous``, in standard deviations of ``xy`` (of both axes; 0: none)."""
    return float(np.median(moves(xy, previous)))


def moves(xy: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """Measure the distance of each point since ``previous``, float64 ``[P]``, in standard deviations of ``xy`` over
    both axes; 0 if it has none.
    """
    size = float(np.sqrt(xy.var(axis=0, dtype=np.float64).mean()))
    return np.linalg.norm(xy - previous, axis=1).astype(np.float64) / size if size > 0 else np.zeros(len(xy))


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Return Spearman's rank correlation of two float arrays ``[P]``, ties by mean rank; None where one is constant."""
    if not len(first):
        return None
    ranks = [rankdata(values) for values in (first, second)]
    spreads = [float(rank.std()) for rank in ranks]
    if min(spreads) == 0:
        return None
    return float(np.mean((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())) / (spreads[0] * spreads[1]))
