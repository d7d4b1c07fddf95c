"""Re-ranking against loops over sets, one list against the whole set, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.metrics.slow import ranked_levels, score
from tests.metrics.worlds import tree
from tests.retrieval import slow_reranking
from trainers.errors import ParameterError, UserError
from trainers.losses.contextual import contextual_similarity
from trainers.metrics import blocks, evaluate
from trainers.retrieval.reranked import METRICS, reranked
from trainers.retrieval.reranking import RERANKINGS, contextual

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
    scores = entry.scores(rows, parameters)
    np.testing.assert_allclose(scores(slice(0, 40)), want, atol=1e-12)
    np.testing.assert_allclose(scores(slice(7, 11)), want[7:11], atol=1e-12)


@pytest.mark.parametrize(("name", "given"), CASES)
def test_a_list_of_all_images_is_ranked_as_in_the_whole_set(name, given) -> None:
    rows, _ = unit(3)
    entry = RERANKINGS[name]
    parameters = entry.checked(given)
    scores = entry.scores(rows, parameters)(slice(0, 40))
    for query in (0, 13):
        others = np.delete(np.arange(40), query)
        order = entry.rerank(rows[query], rows[others], rows[others] @ rows[query], parameters)
        assert order.dtype == np.int64 and sorted(order) == list(range(39))
        assert (np.diff(scores[query, others[order]]) <= 1e-12).all()


@pytest.mark.parametrize("name", RERANKINGS)
def test_blocks_change_nothing(name, monkeypatch) -> None:
    rows, _ = unit(4)
    whole = RERANKINGS[name].scores(rows)(slice(0, 40))
    monkeypatch.setattr("trainers.retrieval.reranking._neighbours.BLOCK", 130)
    np.testing.assert_allclose(RERANKINGS[name].scores(rows)(slice(0, 40)), whole, atol=1e-12)


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


def test_contextual_is_the_similarity_of_the_loss() -> None:
    rows, _ = unit(6)
    parameters = RERANKINGS["contextual"].checked({"k": 6, "eps": 0.05, "lam": 0.0})
    vectors = torch.from_numpy(rows)
    want = contextual_similarity(vectors @ vectors.T, 6, 0.05, 1.0)
    np.testing.assert_allclose(RERANKINGS["contextual"].scores(rows, parameters)(slice(0, 40)), want, atol=1e-12)


def test_without_a_compiler_contextual_is_the_same(monkeypatch) -> None:
    rows, _ = unit(6)
    listed = RERANKINGS["contextual"].scores(rows)(slice(3, 9))
    monkeypatch.setattr(contextual, "lists", lambda _number: None)
    np.testing.assert_allclose(RERANKINGS["contextual"].scores(rows)(slice(3, 9)), listed, atol=1e-12)
    monkeypatch.setattr(contextual, "MOST", 1000)
    with pytest.raises(UserError, match="numba"):
        RERANKINGS["contextual"].scores(rows)


def test_images_that_are_too_alike_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(contextual, "MOST", 1000)
    with pytest.raises(UserError, match="almost equal"):
        RERANKINGS["contextual"].scores(np.tile([[1.0, 0.0]], (40, 1)))


@pytest.mark.parametrize("name", RERANKINGS)
def test_metrics_before_and_after(name) -> None:
    rows, labels = unit(8, 50)
    found = reranked(torch.from_numpy(rows), torch.from_numpy(labels), RERANKINGS[name])
    assert found.before == evaluate(torch.from_numpy(rows), torch.from_numpy(labels), metrics=METRICS)
    parameters = RERANKINGS[name].checked({})
    want = getattr(slow_reranking, name)(rows, **vars(parameters))
    lists = []
    for query in range(50):
        entries = [
            (-round(want[query, j], 10), int((labels[query] == labels[j]).sum())) for j in range(50) if j != query
        ]
        lists.append([level for _, level in sorted(entries)])
    for metric in METRICS:
        assert found.after[metric] == pytest.approx(np.nanmean([score(metric, one, 2) for one in lists]), abs=1e-9)


def test_a_gallery_apart_is_ranked_alone() -> None:
    rows, labels = (torch.from_numpy(each) for each in unit(9, 60))
    found = reranked(rows[:20], labels[:20], RERANKINGS["k_reciprocal"], None, rows[20:], labels[20:])
    lists = ranked_levels(rows[:20], labels[:20], rows[20:], labels[20:])
    assert found.before["HAP"] == pytest.approx(np.nanmean([score("HAP", one, 2) for one in lists]), abs=1e-12)
    assert found.after["queries"] == 20 and 0 < found.after["HAP"] <= 1


def test_ranking_by_the_cosine_is_ranking_by_a_score() -> None:
    rows, labels = unit(10)
    own = np.arange(40)
    by_score = blocks.ranked_by(
        lambda p: torch.from_numpy(rows[p] @ rows.T), labels, labels, own, device=torch.device("cpu")
    )
    plain = blocks.ranked_blocks(torch.from_numpy(rows), labels, torch.from_numpy(rows), labels, own)
    for (_, one), (_, other) in zip(by_score, plain, strict=True):
        assert torch.equal(one.codes, other.codes)


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="k needs"):
        RERANKINGS["contextual"].checked({"k": 1})
    assert vars(RERANKINGS["k_reciprocal"].checked({})) == {"k1": 20, "k2": 6, "lam": 0.3}
