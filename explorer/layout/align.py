"""Rigid alignment of one map to another, and the box that holds both."""

from __future__ import annotations

import numpy as np


def procrustes(xy: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Move ``xy`` onto ``target`` by the rotation or reflection and the shift of least squared distance.

    Distances between points are kept: nothing is scaled (orthogonal Procrustes, Schönemann 1966).

    Args:
        xy, target: float ``[P, 2]``; row i of both is the same point.

    Returns:
        float32 ``[P, 2]``.
    """
    here, there = xy.mean(axis=0, dtype=np.float64), target.mean(axis=0, dtype=np.float64)
    left, _, right = np.linalg.svd((xy - here).T @ (target - there))
    return ((xy - here) @ (left @ right) + there).astype(np.float32)


def grow(limit: float, maps: tuple[np.ndarray, ...], margin: float = 0.08) -> float:
    """Return the half-width of the axis box that holds all ``maps``; it never shrinks, and stays while they fit.

    Args:
        limit: the box so far, above 0.
        maps: float ``[P, 2]`` each.
        margin: room left beyond the outermost point, so that the box need not grow again at the next frame.
    """
    reach = max((float(np.abs(xy).max()) for xy in maps if xy.size), default=0.0)
    return limit if reach <= limit else reach * (1 + margin)
