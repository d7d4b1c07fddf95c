"""Every metric against its definition as loops and a public library, what must hold whatever the data, and mistakes."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics import slow
from tests.metrics.worlds import listed, tree
from trainers.metrics import blocks, default_metrics, evaluate
from trainers.metrics.controlled_errors import (
    LEVELS,
    METRICS,
    MISTAKES,
    RANKS,
    RELATED,
    UNRELATED,
    Case,
    cases,
    ranking,
)
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


WORLDS = st.tuples(st.integers(0, 10_000), st.integers(3, 40), st.integers(1, 4))
QUICK = settings(max_examples=25, deadline=None)


def close(left: dict, right: dict, order: np.ndarray | None = None) -> None:
    for name, value in left.items():
        other = right[name] if order is None else right[name][order]
        np.testing.assert_allclose(value, other, rtol=0, atol=1e-12, err_msg=name)


@QUICK
@given(WORLDS, st.integers(1, 50))
def test_block_size_changes_nothing(world, rows):
    emb, labels = tree(*world)
    whole = evaluate(emb, labels, per_query=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", rows * len(emb))
        close(evaluate(emb, labels, per_query=True), whole)


@QUICK
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_a_perfect_list_scores_one_and_no_list_more(levels):
    names = ["AP", "AP_at_R", "AP_any_level", "NDCG", "ASI", "HAP"]
    for name, (best, some) in listed([sorted(levels, reverse=True), levels], 3, names).items():
        if name != "HAP" and not np.isnan(best):
            assert best == pytest.approx(1.0, abs=1e-12)
        assert np.isnan(some) or -1e-12 <= some <= 1 + 1e-12
        assert np.isnan(some) == np.isnan(best)


@QUICK
@given(st.integers(0, 1000), st.integers(2, 30))
def test_ties_go_to_the_less_relevant_in_any_order(seed, count):
    """Cosines that are multiples of 1/4 tie exactly."""
    rng = np.random.default_rng(seed)
    emb = torch.tensor(rng.choice([-1.0, 1.0], size=(count, 4)))
    labels = torch.tensor(rng.integers(0, 4, count))
    labels = torch.stack([labels, labels // 2], 1)
    order = rng.permutation(count)
    scores = evaluate(emb, labels, per_query=True)
    close(evaluate(emb[order], labels[order], per_query=True), scores, order)
    for name in default_metrics(2):
        want = [slow.score(name, levels, 2) for levels in slow.ranked_levels(emb, labels)]
        np.testing.assert_allclose(scores[name], want, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_a_collapsed_network_gains_nothing_from_ties(dtype):
    labels = torch.arange(60) // 6
    scores = evaluate(torch.ones(60, 32, dtype=dtype), labels)
    assert scores["R_at_1"] == 0
    assert scores["AP"] == pytest.approx(np.mean([k / (54 + k) for k in range(1, 6)]))


def test_the_query_is_removed_by_index_though_a_duplicate_ties_with_it():
    emb = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]])
    assert evaluate(emb, torch.tensor([0, 1, 0]), metrics=["AP"], per_query=True)["AP"][0] == 0.5
    assert evaluate(emb, torch.tensor([0, 0, 1]), metrics=["AP"], per_query=True)["AP"][0] == 1.0


@pytest.mark.parametrize("depth", [1, 3])
def test_float32_keys_agree_with_float64_ones(monkeypatch, depth):
    emb, labels = tree(8, 300, depth, branch=4, dim=24)
    exact = evaluate(emb, labels)
    monkeypatch.setattr(blocks, "EXACT", 0)
    fast = evaluate(emb.float(), labels)
    for name, value in exact.items():
        assert fast[name] == pytest.approx(value, abs=2e-5), name


def test_nearly_equal_embeddings_have_the_numbers_of_a_small_set_in_a_large_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(0)
    labels = np.arange(200) // 10
    classes = draw.normal(size=(20, 16))[labels] + 0.1 * draw.normal(size=(200, 16))
    close = torch.from_numpy((1 + 3e-5 * classes).astype(np.float32))
    small = evaluate(close, torch.from_numpy(labels), metrics=["R_at_1", "AP"])
    monkeypatch.setattr(blocks, "EXACT", 0)
    large = evaluate(close, torch.from_numpy(labels), metrics=["R_at_1", "AP"])
    assert small["R_at_1"] > 0.9 and large == small


def test_half_precision_input_is_computed_in_float32_or_more():
    emb, labels = tree(9, 100, 2)
    half = emb.half()
    close(evaluate(half, labels, per_query=True), evaluate(half.double(), labels, per_query=True))


def test_threads_sort_the_same_rows():
    keys = torch.randint(-(2**30), 2**30, (37, 4000), dtype=torch.int32)
    want = keys.sort(dim=1).values
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(blocks.sort_rows(keys.clone()), want)
    finally:
        torch.set_num_threads(before)


def test_class_ids_may_be_of_any_size():
    emb, labels = tree(11, 50, 2)
    close(evaluate(emb, labels * 2**32 - 7, per_query=True), evaluate(emb, labels, per_query=True))


DEPTHS = pytest.mark.parametrize("depth", [1, 2, len(LEVELS)])


def of(mistakes: int, rank: int, depth: int) -> list[Case]:
    """One case per severity, the worst first."""
    shown = [one for one in cases(depth) if (one.mistakes, one.rank) == (mistakes, rank)]
    return sorted(shown, key=lambda one: one.shared)


@DEPTHS
def test_a_ranking_has_its_mistakes_where_it_says_and_is_perfect_besides(depth: int) -> None:
    assert ranking(1, 2, 3, 3)[:10] == [3, 3, 1, 1, 3, 3, 3, 3, 3, 3]
    for one in cases(depth):
        assert Counter(one.ranking) == {0: UNRELATED} | dict.fromkeys(range(1, depth + 1), RELATED)
        begin = one.rank - 1
        moved, rest = one.ranking[begin : begin + one.mistakes], list(one.ranking)
        del rest[begin : begin + one.mistakes]
        assert set(moved) <= {one.shared}
        assert rest == sorted(rest, reverse=True)


@DEPTHS
def test_values_are_those_of_the_definitions(depth: int) -> None:
    for one in cases(depth):
        wanted = [slow.score(name, list(one.ranking), depth) for name in METRICS]
        assert one.values == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("rank", range(1, RANKS + 1))
@pytest.mark.parametrize("mistakes", range(1, MISTAKES + 1))
def test_ap_does_not_see_the_severity_and_the_others_do(mistakes: int, rank: int) -> None:
    values = (one.values for one in of(mistakes, rank, len(LEVELS)))
    by_metric = dict(zip(METRICS, zip(*values, strict=True), strict=True))
    assert len(set(by_metric.pop("AP"))) == 1
    for column in by_metric.values():
        assert all(worse < better - 1e-6 for worse, better in pairwise(column))
