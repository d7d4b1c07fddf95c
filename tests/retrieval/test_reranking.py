"""Re-ranking against loops over sets, and what must always hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.losses.reference import contextual_similarity
from tests.metrics.worlds import tree
from trainers.retrieval.reranking import RERANKINGS

CASES = [
    ("contextual", {}),
    ("contextual", {"k": 4, "eps": 0.05, "lam": 0.0}),
    ("contextual", {"k": 7, "eps": 0.3}),
    ("contextual", {"k": 60}),
    ("k_reciprocal", {}),
    ("k_reciprocal", {"k1": 6, "k2": 3}),
    ("k_reciprocal", {"k1": 5, "k2": 1, "lam": 0.0}),
    ("k_reciprocal", {"k1": 4, "k2": 12}),
]


def unit(seed: int, count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rows, labels = tree(seed, count, 2)
    values = rows.numpy()
    return values / np.linalg.norm(values, axis=1, keepdims=True), labels.numpy()


def distances(rows: np.ndarray) -> list[list[float]]:
    """Squared Euclidean distances of unit rows."""
    return [[0.0 if i == j else float(((a - b) ** 2).sum()) for j, b in enumerate(rows)] for i, a in enumerate(rows)]


def nearest(distance: list[float], own: int, k: int) -> list[int]:
    """``own`` and its k - 1 nearest, equal ones by place."""
    others = sorted((d, j) for j, d in enumerate(distance) if j != own)
    return [own, *(j for _, j in others[: k - 1])]


def contextual(rows: np.ndarray, k: int, eps: float, lam: float) -> np.ndarray:
    """Eq. 1-4 of Liao et al. 2023 by sets, blended with the cosine."""
    similarity = contextual_similarity(torch.from_numpy(rows), min(k, len(rows)), eps).numpy()
    return (1 - lam) * similarity + lam * (rows @ rows.T)


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


SLOW = {"contextual": contextual, "k_reciprocal": k_reciprocal}


@pytest.mark.parametrize(("name", "given"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_scores_follow_the_papers(name, given, seed) -> None:
    rows, _ = unit(seed)
    entry = RERANKINGS[name]
    parameters = entry.checked(given)
    want = SLOW[name](rows, **vars(parameters))
    for query in (0, 13):
        others = np.delete(np.arange(40), query)
        scores = entry.score(rows[[query, *others]], parameters)
        np.testing.assert_allclose(scores, want[query, [query, *others]], atol=1e-12)
        order = entry.rerank(rows[query], rows[others], rows[others] @ rows[query], parameters)
        assert order.dtype == np.int64 and sorted(order) == list(range(39))
        assert (np.diff(scores[1:][order]) <= 0).all()


@pytest.mark.parametrize("name", RERANKINGS)
def test_few_equal_and_no_candidates(name) -> None:
    entry = RERANKINGS[name]
    rows, _ = unit(5)
    assert entry.rerank(rows[0], rows[:0], np.zeros(0)).tolist() == []
    assert entry.rerank(rows[0], rows[1:2], np.ones(1)).tolist() == [0]
    same = np.tile(rows[:1], (30, 1))
    assert entry.rerank(rows[0], same, np.ones(30)).tolist() == list(range(30))
