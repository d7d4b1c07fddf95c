"""Metrics of image and text: ODmAP@k against its case, loops, worked examples and properties; recall both ways."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle_cases import cases, load
from trainers.errors import UserError
from trainers.metrics.bitmasks import CORRECT, CaptionMasks, Judged, pack
from trainers.metrics.bootstrap import bootstrap
from trainers.metrics.catalogue.captions import odmap
from trainers.metrics.counterfactual import counterfactual
from trainers.metrics.image_text import recall_both_ways


def scored(similarity, mentions, present, removed, **options):
    """Queries and sentences whose cosines are the similarities, up to one factor per query."""
    sim = torch.as_tensor(similarity, dtype=torch.float64)
    basis = torch.eye(sim.shape[1], dtype=torch.float64)
    return counterfactual(sim, basis, *(torch.as_tensor(table) for table in (mentions, present, removed)), **options)


def slow(similarity, mentions, present, removed, k):
    """Per query ODmAP, hallucination, present as sets and loops; NaN where left out. No ties."""
    rows = []
    for sim, here, gone in zip(similarity, present, removed, strict=True):
        left, lost = set(np.flatnonzero(here)), set(np.flatnonzero(gone))
        said = [set(np.flatnonzero(row)) for row in mentions]
        fits = [bool(left & names) for names in said]
        hurt = [bool(names & lost) for names in said]
        right = [fit and not bad for fit, bad in zip(fits, hurt, strict=True)]
        order = np.argsort(-sim, kind="stable")[:k]
        total, hits = 0.0, 0
        for rank, item in enumerate(order, 1):
            hits += right[item]
            total += right[item] * hits / rank
        ap = total / min(k, sum(right)) if left and lost and sum(right) else np.nan
        bad = np.mean([hurt[i] for i in order]) if lost else np.nan
        rows.append((ap, bad, np.mean([fits[i] for i in order]) if left else np.nan))
    return np.array(rows, dtype=float).T


def world(seed, queries=9, sentences=70, classes=6):
    rng = np.random.default_rng(seed)
    state = rng.integers(0, 3, (queries, classes))
    return rng.normal(size=(queries, sentences)), rng.random((sentences, classes)) < 0.25, state == 1, state == 2


@pytest.mark.parametrize("stem", cases("odmap"))
def test_the_reference_case(stem):
    with load(stem) as case:
        tables = [case[name] for name in ("caption_mentions_class", "query_present_classes", "query_removed_classes")]
        found, correct = scored(case["similarity"], *tables), case["expected_correct"].sum(1)
        for k in (1, 5, 10):  # the case divides by k even where fewer captions are correct
            strict = found.values[f"ODmAP_at_{k}"] * correct.clip(1, k) / k
            np.testing.assert_allclose(strict, case[f"expected_ODmAP_at_{k}"], atol=1e-12)
        gallery = CaptionMasks.of(np.asarray(tables[0]))
        verdicts = gallery.verdicts(*(pack(np.asarray(table)) for table in tables[1:]), torch.device("cpu"))
        np.testing.assert_array_equal((verdicts == CORRECT).numpy()[gallery.kind].T, case["expected_correct"])


@pytest.mark.parametrize(
    ("hits", "expected"),
    [([1, 0, 1], 5 / 9), ([0, 1, 1], 7 / 18), ([1, 1, 1, 1, 1], 1.0), ([0, 0, 0], 0.0), ([1], 1.0), ([0], 0.0)],
)
def test_worked_examples(hits, expected):
    verdicts, yes = np.array([hits], np.uint8) * CORRECT, np.array([True])
    judged = Judged(verdicts=verdicts, relevant=np.array([len(hits)]), removed=yes, present=yes)
    assert odmap(judged, len(hits)).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_definition_as_loops(seed):
    tables = world(seed)
    found = scored(*tables, ks=(1, 3, 10))
    for k in (1, 3, 10):
        want = slow(*tables, k)
        for name, column in zip(("ODmAP", "hallucination", "present"), want, strict=True):
            np.testing.assert_allclose(found.values[f"{name}_at_{k}"], column, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_blocks_change_nothing(dtype, monkeypatch):
    torch.manual_seed(3)
    queries, gallery = torch.randn(21, 16).to(dtype), torch.randn(1000, 16).to(dtype)
    _, mentions, present, removed = (torch.as_tensor(table) for table in world(3, 21, 1000, 70))
    want = counterfactual(queries, gallery, mentions, present, removed)
    monkeypatch.setattr("trainers.metrics.topk.BLOCK", 64 * 21)
    monkeypatch.setattr("trainers.metrics.topk.TILE", 100)
    monkeypatch.setattr("trainers.metrics.topk._QUERIES", 5)
    got = counterfactual(queries, gallery, mentions, present, removed)
    for name, value in want.values.items():
        np.testing.assert_array_equal(got.values[name], value)
    np.testing.assert_array_equal(got.top, want.top)
    assert got.counts == want.counts


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_properties(seed):
    similarity, mentions, present, removed = world(seed, 4, 30, 4)
    found = scored(similarity, mentions, present, removed, ks=(1, 5))
    for name, value in found.values.items():
        seen = value[~np.isnan(value)]
        assert ((seen >= 0) & (seen <= 1)).all(), name
    order = np.random.default_rng(seed).permutation(30)
    shuffled = scored(similarity[:, order], mentions[order], present, removed, ks=(1, 5))
    np.testing.assert_allclose(shuffled.values["ODmAP_at_5"], found.values["ODmAP_at_5"], atol=1e-12)
    stranger = np.pad(mentions, ((0, 0), (0, 1)), constant_values=True)  # a class no photo ever had
    wider = [np.pad(table, ((0, 0), (0, 1))) for table in (present, removed)]
    np.testing.assert_array_equal(
        scored(similarity, stranger, *wider, ks=(1, 5)).values["ODmAP_at_5"], found.values["ODmAP_at_5"]
    )


def test_ties_never_help():
    mentions = np.array([[True, False], [False, True], [False, False]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        found = scored(np.ones((1, 3)), mentions[order], [[True, False]], [[False, True]], ks=(1, 3))
        assert found.values["ODmAP_at_1"] == 0
        assert found.values["hallucination_at_1"] == 1
        assert found.values["ODmAP_at_3"] == pytest.approx(1 / 3)


def test_what_was_skipped_is_counted_by_reason():
    mentions = [[True, False, False], [False, True, False]]
    present = [[True, False, False], [False, False, False], [False, False, True], [True, False, False]]
    removed = [[False, True, False], [False, True, False], [False, True, False], [False, False, False]]
    found = scored(np.array([[0.9, 0.1]] * 4), mentions, present, removed, ks=(1, 50))
    assert found.counts == {
        "queries": 4,
        "skipped_nothing_removed": 1,
        "skipped_nothing_present": 1,
        "skipped_no_correct_sentence": 1,
        "fewer_than_k_correct": 1,
        "distinct_top1": 1,
    }
    np.testing.assert_array_equal(found.values["ODmAP_at_1"], [1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found.values["hallucination_at_1"], [0, 0, 0, np.nan])
    assert "ODmAP_at_2" in found.values and "ODmAP_at_50" not in found.values


def test_masks_of_any_number_of_classes():
    table = torch.rand(50, 200, generator=torch.Generator().manual_seed(0)) < 0.5
    words = pack(table.numpy())
    assert words.shape == (50, 4) and (words >= 0).all()
    bits = np.concatenate([(words[:, i, None] >> np.arange(63)) & 1 for i in range(4)], 1)[:, :200]
    assert np.array_equal(bits.astype(bool), table.numpy())


def test_intervals():
    values = np.array([0.0, 1.0, 1.0, np.nan, 0.0] * 40)
    got = bootstrap(values)
    assert got.queries == 160 and got.mean == 0.5
    assert got.low == pytest.approx(0.5 - 1.96 * 0.5 / 160**0.5, abs=0.02)
    assert got == bootstrap(values) and bootstrap(np.ones(5)).low == 1.0
    assert np.isnan(bootstrap(np.array([np.nan])).mean)
    found = [bootstrap(values) for values in scored(*world(0)).values.values()]
    assert all(one.low <= one.mean <= one.high for one in found if one.queries)


@pytest.mark.parametrize(
    ("change", "needle"),
    [
        ({"queries": torch.randn(2, 3)}, "got"),
        ({"queries": torch.full((2, 4), float("nan"))}, "finite"),
        ({"mentions": torch.zeros(5, 3)}, "true/false"),
        ({"present": torch.ones(2, 3, dtype=torch.bool)}, "both present and removed"),
        ({"ks": (0,)}, "1 or more"),
        ({"gallery": torch.zeros(0, 4), "mentions": torch.zeros(0, 3, dtype=torch.bool)}, "At least one"),
    ],
)
def test_refusals(change, needle):
    asked = {
        "queries": torch.randn(2, 4),
        "gallery": torch.randn(5, 4),
        "mentions": torch.zeros(5, 3, dtype=torch.bool),
        "present": torch.zeros(2, 3, dtype=torch.bool),
        "removed": torch.ones(2, 3, dtype=torch.bool),
    }
    with pytest.raises(UserError, match=needle):
        counterfactual(**{**asked, **change})


def slow_recall(photos, sentences, owner, texts, k):
    """Lists sorted one by one; texts None: every sentence differs."""
    unit = [table / table.norm(dim=1, keepdim=True) for table in (photos, sentences)]
    sim = (unit[0] @ unit[1].T).numpy()
    said = np.arange(len(owner)) if texts is None else texts.numpy()
    right = np.array(
        [
            [any(said[m] == said[o] and owner[o] == n for o in range(len(owner))) for m in range(len(owner))]
            for n in range(len(photos))
        ]
    )
    there = [
        float(right[n, np.argsort(-sim[n])[:k]].any()) if (owner == n).any() else np.nan for n in range(len(photos))
    ]
    back = [float(right[np.argsort(-sim[:, m])[:k], m].any()) for m in range(len(owner))]
    return there, back


@pytest.mark.parametrize("doubles", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_against_loops(seed, doubles, monkeypatch):
    torch.manual_seed(seed)
    photos, sentences, owner = torch.randn(11, 6).double(), torch.randn(40, 6).double(), torch.randint(0, 10, (40,))
    texts = torch.randint(0, 25, (40,)) if doubles else None
    monkeypatch.setattr("trainers.metrics.topk._QUERIES", 7)
    found = recall_both_ways(photos, sentences, owner, ks=(1, 4, 99), texts=texts)
    for k in (1, 4, 99):
        there, back = slow_recall(photos, sentences, owner, texts, k)
        np.testing.assert_array_equal(found[f"i2t_R_at_{k}"], there)
        np.testing.assert_array_equal(found[f"t2i_R_at_{k}"], back)
    assert np.isnan(found["i2t_R_at_1"][10])


def test_a_collapsed_model_finds_nothing():
    owner = torch.arange(20).repeat_interleave(2)
    found = recall_both_ways(torch.ones(20, 4), torch.ones(40, 4), owner)
    assert all((value == 0).all() for value in found.values())


@pytest.mark.parametrize(
    ("photos", "owner", "needle"), [((3, 4), [0, 5], "0 to 2"), ((3, 5), [0, 1], "got"), ((3, 4), [0], "got")]
)
def test_refusals_of_recall(photos, owner, needle):
    with pytest.raises(UserError, match=needle):
        recall_both_ways(torch.ones(photos), torch.ones(2, 4), torch.tensor(owner))
