"""The PCA map, available at once and deterministic: the two directions of largest variance."""

from __future__ import annotations

import numpy as np


def pca(embeddings: np.ndarray, spread: float = 4.0) -> np.ndarray:
    """Project onto the first two principal components, with signs fixed and one common scale.

    Args:
        embeddings: float ``[P, D]``; rows that are not finite count as zero.
        spread: standard deviation of the result over both axes. One factor scales both axes, so shapes are kept.

    Returns:
        float32 ``[P, 2]`` with mean zero; the second axis is zero when the points lie on a line.
    """
    points = np.nan_to_num(np.asarray(embeddings, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    points = points - points.mean(axis=0)
    xy = points @ _directions(points)
    size = np.sqrt((xy**2).mean())
    # equal points leave only rounding errors, which would be scaled up to noise
    xy = np.zeros_like(xy) if size < 1e-6 else xy * (spread / size)
    return xy.astype(np.float32)


def _directions(points: np.ndarray) -> np.ndarray:
    """Return unit columns ``[D, 2]`` of largest variance; the largest entry of each by magnitude is positive."""
    count, dim = points.shape
    if dim <= count:
        _, vectors = np.linalg.eigh(points.T @ points)
    else:
        values, left = np.linalg.eigh(points @ points.T)
        vectors = points.T @ left / np.sqrt(np.maximum(values, 1e-12))
    chosen = np.zeros((dim, 2))
    axes = vectors[:, ::-1][:, :2]
    chosen[:, : axes.shape[1]] = axes
    largest = np.abs(chosen).argmax(axis=0)
    return chosen * np.where(chosen[largest, [0, 1]] < 0, -1.0, 1.0)
