"""Every metric against its definition written as loops, and against a public library."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.metrics import slow
from tests.metrics.worlds import listed, tree
from trainers.metrics import default_metrics, evaluate
from trainers.retrieval.indexes import faiss_library

BINARY = ("AP", "AP_at_R", "AP_at_3", "AP_at_100", "R_at_1", "R_at_7", "P_at_1", "P_at_5", "P_at_R", "true_R_at_4")
WHOLE = ("HAP", "NDCG", "NDCG_at_4", "NDCG_at_500", "ASI", "level_mean_AP", "level_mean_R_at_3", "sum_wAP")


def names(depth: int) -> list[str]:
    return [*BINARY, *(f"{name}_level{depth - 1}" for name in BINARY), *WHOLE]


@pytest.mark.parametrize(("depth", "queries"), [(1, 0), (2, 0), (3, 0), (7, 0), (1, 20), (3, 20)])
def test_all_metrics_follow_their_definitions(depth, queries):
    """Every image is a query among the others, or the first are, against a gallery of the rest."""
    emb, labels = tree(depth, 45, depth)
    given = (emb[:queries], labels[:queries], emb[queries:], labels[queries:]) if queries else (emb, labels)
    got = evaluate(*given, metrics=names(depth), per_query=True)
    lists = slow.ranked_levels(*given)
    for name in names(depth):
        want = [slow.score(name, levels, depth) for levels in lists]
        np.testing.assert_allclose(got[name], want, rtol=0, atol=1e-12, err_msg=name)


def test_labels_that_form_no_tree_are_compared_column_by_column():
    rng = np.random.default_rng(0)
    emb, labels = rng.normal(size=(40, 5)), rng.integers(0, 3, (40, 3))
    got = evaluate(torch.tensor(emb), torch.tensor(labels), metrics=["HAP", "NDCG", "ASI", "AP_level1"], per_query=True)
    lists = slow.ranked_levels(emb, labels)
    for name in ("HAP", "NDCG", "ASI"):
        want = [slow.score(name, levels, 3) for levels in lists]
        np.testing.assert_allclose(got[name], want, rtol=0, atol=1e-12, err_msg=name)
    column = slow.ranked_levels(emb, labels[:, 1])
    np.testing.assert_allclose(got["AP_level1"], [slow.score("AP", levels, 1) for levels in column], atol=1e-12)


def test_hap_stays_below_one_where_two_levels_have_the_same_relevance():
    """Two items at the fine level, one at the coarse: (2/2)/2 = (1/2)/1."""
    best, worse = listed([[2, 2, 1, 0, 0], [2, 0, 2, 1, 0]], 2, ["HAP"])["HAP"]
    assert best == pytest.approx(1.0, abs=1e-15)
    assert worse == pytest.approx((1 + 2 / 3 + 3 / 4) / 3, abs=1e-15)


def test_mean_leaves_out_queries_without_a_positive_and_counts_them():
    emb, _ = tree(1, 6, 1)
    labels = torch.tensor([[0, 0], [0, 0], [1, 0], [2, 1], [2, 1], [3, 2]])
    scores, each = evaluate(emb, labels), evaluate(emb, labels, per_query=True)
    assert scores["queries"] == 6
    assert scores["queries_without_positive"] == 2
    assert scores["queries_without_positive_any_level"] == 1
    assert np.isnan(each["AP"]).tolist() == [False, False, True, False, False, True]
    assert np.isnan(each["HAP"]).tolist() == [False, False, False, False, False, True]
    for name in default_metrics(2):
        assert scores[name] == pytest.approx(np.nanmean(each[name]), abs=1e-15)
        assert each[name].dtype == np.float64


def test_nobody_has_a_positive():
    scores = evaluate(torch.eye(4), torch.arange(4))
    assert math.isnan(scores["AP"])
    assert scores["queries_without_positive"] == 4
    assert math.isnan(evaluate(torch.ones(1, 3), torch.zeros(1, dtype=torch.long))["HAP"])


def test_nothing_to_search_or_to_search_for():
    emb, labels = torch.eye(4), torch.zeros(4, 2, dtype=torch.long)
    assert evaluate(emb[:0], labels[:0], emb, labels)["queries"] == 0
    scores = evaluate(emb, labels, emb[:0], labels[:0])
    assert scores["queries_without_positive"] == 4
    assert math.isnan(scores["HAP"])


def test_pytorch_metric_learning_agrees():
    assert faiss_library()  # which it imports too, where warnings are errors: an older faiss would end the process
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    emb, labels = tree(2, 80, 1, branch=12)
    unit = torch.nn.functional.normalize(emb)
    wanted = ("precision_at_1", "mean_average_precision_at_r", "r_precision")

    def exact_neighbours(query, k, reference, ref_includes_query):
        distance = (query[:, None] - reference[None]).norm(dim=2)
        if ref_includes_query:
            distance.fill_diagonal_(math.inf)
        return distance.topk(k, largest=False)

    calculator = AccuracyCalculator(include=wanted, k="max_bin_count", knn_func=exact_neighbours)
    theirs = calculator.get_accuracy(unit, labels[:, 0])
    ours = evaluate(emb, labels, metrics=["P_at_1", "AP_at_R", "P_at_R"])
    for name, key in zip(wanted, ("P_at_1", "AP_at_R", "P_at_R"), strict=True):
        assert ours[key] == pytest.approx(theirs[name], abs=1e-9)
