"""What must hold whatever the data: order, names of classes, block size and precision change nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics import slow
from tests.metrics.worlds import listed, tree
from trainers.metrics import blocks, default_metrics, evaluate

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
@given(st.lists(st.integers(0, 1), min_size=1, max_size=30))
def test_hap_of_flat_labels_is_ap(levels):
    found = listed([levels], 1, ["HAP", "AP"])
    np.testing.assert_allclose(found["HAP"], found["AP"], atol=1e-12)


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_agrees_with_the_cpu():
    emb, labels = tree(10, 200, 3)
    close(evaluate(emb.cuda(), labels.cuda(), per_query=True), evaluate(emb, labels, per_query=True))
