"""Re-ranking against loops over sets, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest

from tests.metrics.worlds import tree
from tests.retrieval import slow_reranking
from trainers.errors import ParameterError
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


@pytest.mark.parametrize(("name", "given"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_scores_follow_the_papers(name, given, seed) -> None:
    rows, _ = unit(seed)
    entry = RERANKINGS[name]
    parameters = entry.checked(given)
    want = getattr(slow_reranking, name)(rows, **vars(parameters))
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


@pytest.mark.parametrize("name", RERANKINGS)
def test_far_apart_classes_keep_their_order_first(name) -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(4), 8, axis=0) + 0.05 * rng.normal(size=(32, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    order = RERANKINGS[name].rerank(rows[0], rows[1:], rows[1:] @ rows[0])
    assert set(order[:7]) == set(range(7))


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="k needs"):
        RERANKINGS["contextual"].checked({"k": 1})
    assert vars(RERANKINGS["k_reciprocal"].checked({})) == {"k1": 20, "k2": 6, "lam": 0.3}
