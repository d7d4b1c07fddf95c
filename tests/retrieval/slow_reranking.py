"""Re-ranking scores as loops over sets, in float64: nothing shared with the code under test."""

from __future__ import annotations

import math

import numpy as np


def distances(rows: np.ndarray) -> list[list[float]]:
    """Squared Euclidean distances of unit rows."""
    return [[0.0 if i == j else float(((a - b) ** 2).sum()) for j, b in enumerate(rows)] for i, a in enumerate(rows)]


def nearest(distance: list[float], own: int, k: int) -> list[int]:
    """``own`` and its k - 1 nearest, equal ones by place."""
    others = sorted((d, j) for j, d in enumerate(distance) if j != own)
    return [own, *(j for _, j in others[: k - 1])]


def contextual(rows: np.ndarray, k: int, eps: float, lam: float) -> np.ndarray:
    """Eq. 1-4 of Liao et al. 2023 by sets, blended with the cosine."""
    n, d = len(rows), distances(rows)

    def within(size: int) -> list[set[int]]:
        radius = [sorted(d[i])[size - 1] + eps for i in range(n)]
        return [{j for j in range(n) if d[i][j] <= radius[i]} for i in range(n)]

    k = min(k, n)
    near, close = within(k), within(k // 2)
    everything = set(range(n))

    def overlap(i: int, j: int) -> float:
        if j not in near[i]:
            return 0.0
        rest = everything - near[i]
        apart = len(rest - near[j]) / len(rest) if rest else 0.0
        return (len(near[i] & near[j]) / len(near[i]) + apart) / 2

    def expanded(i: int, j: int) -> float:
        mutual = [p for p in close[i] if i in close[p]]
        return sum(overlap(p, j) for p in mutual) / len(mutual)

    w = [[(expanded(i, j) + expanded(j, i)) / 2 for j in range(n)] for i in range(n)]
    return (1 - lam) * np.array(w) + lam * (rows @ rows.T)


def k_reciprocal(rows: np.ndarray, k1: int, k2: int, lam: float) -> np.ndarray:
    """Zhong et al. 2017 by sets, with the distances and weights of the code published with it."""
    n, d = len(rows), distances(rows)
    d = [[value / (max(row) or 1.0) for value in row] for row in d]

    def reciprocal(k: int) -> list[set[int]]:
        near = [set(nearest(d[i], i, k + 1)) for i in range(n)]
        return [{j for j in near[i] if i in near[j]} for i in range(n)]

    wide, half = reciprocal(k1), reciprocal(round(k1 / 2))
    weights = []
    for i in range(n):
        members = set(wide[i])
        for q in wide[i]:
            if len(half[q] & wide[i]) > 2 / 3 * len(half[q]):
                members |= half[q]
        row = {j: math.exp(-d[i][j]) for j in members}
        weights.append({j: value / sum(row.values()) for j, value in row.items()})
    averaged = []
    for i in range(n):
        over = nearest(d[i], i, min(k2, n))
        averaged.append([sum(weights[p].get(j, 0.0) for p in over) / len(over) for j in range(n)])
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            least = sum(map(min, averaged[i], averaged[j]))
            most = sum(map(max, averaged[i], averaged[j]))
            out[i, j] = 1 - ((1 - lam) * (1 - least / most) + lam * d[i][j])
    return out
