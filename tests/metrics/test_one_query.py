"""The metrics of one query are those of evaluate."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.metrics import evaluate
from trainers.metrics.names import default_metrics
from trainers.metrics.one_query import score_query


def world(seed: int, *, tree: bool, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(seed)
    rows = draws.standard_normal((80, 6))
    if ties:
        rows = draws.integers(-1, 2, (80, 3)).astype(float) + 0.1
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    finest = draws.integers(12, size=80)
    other = finest % 4 if tree else draws.integers(4, size=80)
    return rows, np.stack([finest, other, other % 2], axis=1)


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_similarities_give_what_evaluate_gives(tree: bool, ties: bool, dtype: type) -> None:
    for seed in range(5):
        rows, labels = world(seed, tree=tree, ties=ties)
        names, others = default_metrics(3), np.arange(80) != 7
        tensors = [torch.from_numpy(part) for part in (rows[7:8], labels[7:8], rows[others], labels[others])]
        expected = evaluate(*tensors, metrics=names, per_query=True)
        similarity = (torch.from_numpy(rows) @ torch.from_numpy(rows[7])).numpy().astype(dtype)
        found = score_query((labels == labels[7])[others], names, similarity=similarity[others])
        assert found == pytest.approx({name: float(value[0]) for name, value in expected.items()}, abs=1e-12)


def test_a_given_order_is_taken_as_it_is() -> None:
    rows, labels = world(0, tree=True, ties=False)
    match, similarity = labels[1:] == labels[0], rows[1:] @ rows[0]
    order = np.argsort(-similarity, kind="stable")
    assert score_query(match, ("AP", "HAP"), order=order) == score_query(match, ("AP", "HAP"), similarity=similarity)
    best = np.argsort(-match.sum(1), kind="stable")
    perfect = score_query(match, ("AP", "HAP", "NDCG"), order=best)
    assert perfect == pytest.approx({"AP": 1.0, "HAP": 1.0, "NDCG": 1.0})


def test_what_is_not_defined_is_left_out() -> None:
    match = np.array([[False, True], [False, False]])
    assert set(score_query(match, ("AP", "HAP"), similarity=np.array([0.5, 0.7]))) == {"HAP"}
    assert score_query(match & False, ("AP", "HAP", "NDCG"), similarity=np.array([0.5, 0.7])) == {}
