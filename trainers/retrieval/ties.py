"""Equal similarities: the results are shown in the order of the metrics, the less related of equal ones first."""

from __future__ import annotations

import numpy as np
import torch

from trainers.metrics.blocks import GRID

_GRIDS = {np.dtype(np.float32): GRID[torch.float32], np.dtype(np.float64): GRID[torch.float64]}


def on_grid(similarity: np.ndarray) -> np.ndarray:
    """Round similarities to the grid of the metrics, on which those that count as equal are equal: same shape, float64.

    Args:
        similarity: float32 or float64; others are taken as float64.
    """
    grid = _GRIDS.get(similarity.dtype, GRID[torch.float64])
    rounded: np.ndarray = np.rint(similarity.astype(np.float64) * grid)
    return rounded


def order(similarity: np.ndarray, rows: np.ndarray, match: np.ndarray | None) -> np.ndarray:
    """Order results, the most similar first; of equal ones the less related first, then by row: int64 ``[n]``.

    Args:
        similarity: float ``[n]``.
        rows: int64 ``[n]``, of the gallery.
        match: bool ``[G, L]``, agreement of each image of the gallery with the query; None: not known.
    """
    near = -on_grid(similarity)
    if match is None:
        return np.lexsort((rows, near))
    known = match[rows]
    return np.lexsort((rows, known @ (1 << np.arange(known.shape[1])), known.sum(axis=1), near))


def with_equals(rows: np.ndarray, similarity: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Add to some rows all others that are as similar as one of them, but those ``left_out``; in no order.

    Args:
        rows: int64 ``[n]``.
        similarity: float ``[G]``, of the whole gallery.
    """
    rounded = on_grid(similarity)
    equal = np.isin(rounded, rounded[rows])
    equal[left_out] = False
    return np.flatnonzero(equal)


def largest_tie(similarity: np.ndarray) -> int:
    """Count the results of the largest group of similarities that are equal in float32; 1: no two are, 0: there are
    none.
    """
    return int(np.unique(on_grid(similarity.astype(np.float32)), return_counts=True)[1].max(initial=0))
