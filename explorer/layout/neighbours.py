"""Exact nearest neighbours of the points of a map."""

from __future__ import annotations

import numpy as np
import torch

from trainers.metrics.neighbours import Neighbours, nearest

MANY = 10_000
"""Of more points a map follows the one before at less cost: see :mod:`explorer.layout.local_join`."""


def map_neighbours(embeddings: np.ndarray, k: int, queries: np.ndarray | None = None) -> Neighbours:
    """Find the ``min(k, P - 1)`` nearest others of points by cosine, ties by index.

    Args:
        embeddings: float ``[P, D]``; rows that are not finite count as zero.
        k: how many neighbours.
        queries: int ``[Q]``, the points whose neighbours are wanted; None: all.
    """
    rows = torch.from_numpy(unit_rows(embeddings))
    asked = np.arange(len(rows)) if queries is None else queries
    return nearest(rows if queries is None else rows[queries], rows, k, own=asked)


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
