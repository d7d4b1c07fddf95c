"""k-NN, linear probe and geometry against slow loops, and what must hold whatever the data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.metrics import slow_representation as slow
from trainers.errors import UserError
from trainers.metrics import checks
from trainers.metrics.representation import (
    alignment,
    class_collapse,
    effective_rank,
    knn_accuracy,
    linear_probe,
    mean_cosine,
    uniformity,
)
from trainers.metrics.representation.linear_probe import SPREAD, batches, held_out

QUICK = settings(max_examples=25, deadline=None)
WORLDS = st.tuples(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 12))


def world(seed: int, classes: int, each: int, dim: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Float64 rows around class means, labels of any numbers, classes of any size."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, classes, classes * each)
    rows = rng.normal(size=(classes, dim))[numbers] + 0.8 * rng.normal(size=(len(numbers), dim))
    return torch.tensor(rows), torch.tensor(numbers * 7 - 3)


def signs(seed: int, classes: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows whose cosines are multiples of 1/4, which tie exactly."""
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.choice([-1.0, 1.0], size=(count, 4))), torch.tensor(rng.integers(0, classes, count))


# --------------------------------------------------------------------- k-NN


@QUICK
@given(WORLDS, st.integers(1, 60), st.sampled_from([0.07, 0.5, 2.0]))
def test_knn_agrees_with_loops(size, k, temperature):
    rows, labels = world(*size)
    half = max(1, len(rows) // 2)
    if half == len(rows):
        return
    found = knn_accuracy(rows[:half], labels[:half], rows[half:], labels[half:], k=k, temperature=temperature, rows=3)
    top1, top5 = slow.knn(rows[:half], labels[:half].tolist(), rows[half:], labels[half:].tolist(), k, temperature)
    assert found["knn_accuracy"] == top1
    assert found.get("knn_top5", top5) == top5 and ("knn_top5" in found) == (len(labels.unique()) > 5)


@QUICK
@given(st.integers(0, 1000), st.integers(2, 9), st.integers(1, 25))
def test_knn_ties_never_help_in_any_order_of_the_bank(seed, classes, k):
    bank, labels = signs(seed, classes, 24)
    queries, asked = signs(seed + 1, classes, 10)
    found = knn_accuracy(bank, labels, queries, asked, k=k)
    order = torch.tensor(np.random.default_rng(seed).permutation(24))
    assert knn_accuracy(bank[order], labels[order], queries, asked, k=k) == found
    top1, top5 = slow.knn(bank, labels.tolist(), queries, asked.tolist(), k, 0.07)
    assert found["knn_accuracy"] == top1 and found.get("knn_top5", top5) == top5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_knn_ignores_length_names_levels_and_precision(dtype):
    rows, labels = world(3, 7, 20)
    rows = rows.to(dtype)
    plain = knn_accuracy(rows[:100].double(), labels[:100], rows[100:].double(), labels[100:], k=9)
    tree = torch.stack([labels * 1000 + 5, labels % 2], 1)
    assert knn_accuracy(rows[:100] * 2, tree[:100], rows[100:] / 4, tree[100:], k=9) == plain


def test_knn_tells_how_far_it_is_and_stops():
    rows, labels = world(1, 4, 10)
    told: list[int] = []
    knn_accuracy(rows[:30], labels[:30], rows[30:], labels[30:], rows=4, progress=told.append)
    assert told == [4, 8, 10]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 0}, "k of at least 1"),
        ({"temperature": 0.0}, "temperature above 0"),
        ({"bank": torch.zeros(0, 3)}, "at least 1 row"),
        ({"bank": torch.zeros(4, 2)}, "same dimension"),
        ({"bank_labels": torch.zeros(3).long()}, "whole-number labels"),
        ({"queries": torch.full((4, 3), torch.nan)}, "finite"),
        ({"queries": torch.zeros(4, 3).long()}, "floating table"),
    ],
)
def test_knn_says_what_is_wrong(change, words):
    rows, labels = torch.eye(4)[:, :3] + 1, torch.arange(4)
    given = {"bank": rows, "bank_labels": labels, "queries": rows, "labels": labels} | change
    with pytest.raises(UserError, match=words):
        knn_accuracy(**given)


# ----------------------------------------------------------------- geometry


@QUICK
@given(WORLDS)
def test_geometry_agrees_with_loops(size):
    rows, labels = world(*size)
    if len(rows) < 2:
        return
    assert uniformity(rows) == pytest.approx(slow.uniformity(rows), abs=1e-10)
    assert alignment(rows, rows.flip(0)) == pytest.approx(slow.alignment(rows, rows.flip(0)), abs=1e-10)
    found = effective_rank(rows)
    assert found == pytest.approx(slow.rank(rows), rel=1e-4)
    assert 1 <= found <= min(rows.shape)
    if len(labels.unique()) > 1:
        assert class_collapse(rows, labels) == pytest.approx(slow.class_collapse(rows, labels), rel=1e-9)


def test_known_values():
    eye = torch.eye(8)
    assert effective_rank(eye) == pytest.approx(8)
    assert uniformity(eye) == pytest.approx(-4) and uniformity(torch.ones(9, 4)) == pytest.approx(0, abs=1e-12)
    assert uniformity(torch.tensor([[1.0, 0], [-1, 0]])) == pytest.approx(-8)
    assert alignment(eye, eye) == 0 and alignment(eye, -eye) == pytest.approx(4)
    assert alignment(eye, -eye, alpha=1) == pytest.approx(2)
    two = torch.tensor([[0.0, 1], [0, 3], [4, 1], [4, 3]])
    assert class_collapse(two, torch.tensor([0, 0, 1, 1])) == pytest.approx(1 / 4)


def test_collapse_is_seen():
    rows = torch.ones(50, 16) + 1e-3 * torch.randn(50, 16, generator=torch.Generator().manual_seed(0))
    assert effective_rank(rows) < 1.5
    tight = torch.eye(16)[torch.arange(64) % 4] + 1e-4 * torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
    assert effective_rank(tight) == pytest.approx(4, abs=0.1)
    assert class_collapse(tight, torch.arange(64) % 4) < 1e-4
    assert class_collapse(torch.eye(4), torch.arange(4)) == 0
    assert math.isnan(class_collapse(torch.ones(4, 2), torch.arange(4) % 2))
    assert math.isinf(class_collapse(torch.tensor([[-1.0], [1], [-1], [1]]), torch.tensor([0, 0, 1, 1])))
    assert math.isnan(class_collapse(torch.eye(4), torch.zeros(4).long()))


@QUICK
@given(WORLDS)
def test_the_mean_cosine_agrees_with_a_loop_over_pairs(size):
    rows, _ = world(*size)
    for given_rows, tolerance in ((rows, 1e-12), (rows.float(), 1e-6)):
        assert float(mean_cosine(given_rows)) == pytest.approx(slow.mean_cosine(given_rows), abs=tolerance)
    assert float(mean_cosine(rows[:1].expand(5, -1))) == pytest.approx(1.0)
    assert float(mean_cosine(torch.eye(4))) == pytest.approx(0.0, abs=1e-12)
    assert float(mean_cosine(torch.stack([rows[0], -rows[0]]))) == pytest.approx(-1.0)


def test_uniformity_by_blocks_is_the_same(monkeypatch):
    from trainers.metrics.representation import geometry

    rows, _ = world(5, 6, 9)
    whole = uniformity(rows)
    monkeypatch.setattr(geometry, "BLOCK", 7 * len(rows))
    assert uniformity(rows) == pytest.approx(whole, abs=1e-13)


def test_geometry_says_what_is_wrong():
    with pytest.raises(UserError, match="at least 2 rows"):
        uniformity(torch.ones(1, 3))
    with pytest.raises(UserError, match="two views of the same"):
        alignment(torch.ones(2, 3), torch.ones(3, 3))
    with pytest.raises(UserError, match="finite"):
        effective_rank(torch.full((3, 3), torch.inf))


# ------------------------------------------------------------- linear probe


def probed(rows, labels, **more):
    half = len(rows) // 2
    return linear_probe(rows[:half], labels[:half], rows[half:], labels[half:], **({"steps": 40, "batch": 16} | more))


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_probe_is_that_of_autograd_and_torchs_optimiser(seed, decay):
    rows, labels = world(seed, 5, 40, dim=6)
    rates = (0.1, 3.0, 30.0)
    found = probed(rows, labels, rates=rates, seed=seed, weight_decay=decay)
    classes = labels.unique()
    numbers = torch.searchsorted(classes, labels)
    train, test = (rows[:100], numbers[:100]), (rows[100:], numbers[100:])
    kept, held = held_out(train[1].numpy(), seed)
    first = SPREAD * torch.randn(6, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    layers = [
        slow.probe(
            train[0][kept],
            train[1][kept],
            batches(len(kept), 16, 40, seed),
            rate=rate,
            steps=40,
            first=first,
            decay=decay,
        )
        for rate in rates
    ]
    scores = [(layer(train[0][held]).argmax(1) == train[1][held]).double().mean().item() for layer in layers]
    assert found.held_out == pytest.approx(scores)
    place = rates.index(found.rate)
    assert scores[place] == max(scores)
    best = layers[place]
    said = classes[best(test[0]).argmax(1)]
    assert found.accuracy == pytest.approx((said == labels[100:]).double().mean().item())


def test_the_curve_holds_every_rate_and_falls():
    rows, labels = world(2, 4, 60)
    found = probed(rows, labels, rates=(0.1, 1.0), steps=120)
    curve = found.curve
    assert curve.steps[-1] == 120 and len(curve.steps) <= 50 and (np.diff(curve.steps) > 0).all()
    assert curve.loss.shape == curve.accuracy.shape == (len(curve.steps), 2)
    assert (curve.loss[-1] < curve.loss[0]).all() and tuple(curve.accuracy[-1]) == found.held_out


def test_the_probe_repeats_itself_and_other_seeds_differ():
    rows, labels = world(4, 4, 50)
    one, two, other = (probed(rows.float(), labels, seed=seed) for seed in (1, 1, 2))
    assert one.held_out == two.held_out and one.accuracy == two.accuracy
    np.testing.assert_array_equal(one.curve.loss, two.curve.loss)
    assert not np.array_equal(one.curve.loss, other.curve.loss)


def test_the_test_images_choose_nothing():
    rows, labels = world(6, 4, 50)
    right = linear_probe(rows[:100], labels[:100], rows[100:], labels[100:], steps=30)
    wrong = linear_probe(rows[:100], labels[:100], -rows[100:], labels[100:].flip(0), steps=30)
    assert (right.rate, right.held_out) == (wrong.rate, wrong.held_out)
    np.testing.assert_array_equal(right.curve.loss, wrong.curve.loss)


def test_rates_do_not_disturb_one_another_and_one_that_diverges_is_not_chosen():
    rows, labels = world(8, 4, 50)
    alone = probed(rows, labels, rates=(0.3,))
    both = probed(rows, labels, rates=(1e308, 0.3), weight_decay=0.0)
    assert both.diverged == (1e308,) and both.rate == 0.3 and math.isnan(both.held_out[0])
    assert both.held_out[1] == alone.held_out[0] and both.accuracy == alone.accuracy
    np.testing.assert_allclose(both.curve.loss[:, 1], alone.curve.loss[:, 0], rtol=1e-12)
    none = probed(rows, labels, rates=(1e308,))
    assert math.isnan(none.rate) and math.isnan(none.accuracy) and none.diverged == (1e308,)


def test_separable_classes_are_told_apart_and_unknown_ones_are_wrong():
    rows = torch.eye(6)[torch.arange(120) % 6]
    labels = torch.arange(120) % 6
    assert linear_probe(rows, labels, rows, labels, steps=60).accuracy == 1
    assert linear_probe(rows, labels, rows, labels + 6, steps=60).accuracy == 0
    tree = torch.stack([labels, labels // 3], 1)
    assert linear_probe(rows, tree, rows, tree, steps=60).accuracy == 1


@given(st.lists(st.integers(0, 6), min_size=2, max_size=200), st.integers(0, 9))
@QUICK
def test_a_tenth_of_every_class_is_held_out(labels, seed):
    kept, held = held_out(np.array(labels), seed)
    assert len(kept) and len(held) and sorted([*kept, *held]) == list(range(len(labels)))
    counts, chosen = np.bincount(labels, minlength=7), np.bincount(np.array(labels)[held], minlength=7)
    assert (np.abs(chosen - counts / 10) <= 1).all()


def test_batches_go_through_all_images_before_any_again():
    rows = list(batches(25, 8, 7, seed=3))
    assert [len(some) for some in rows] == [8] * 7
    for epoch in (rows[:3], rows[3:6]):
        assert len(set(np.concatenate(epoch))) == 24
    assert [len(some) for some in batches(5, 8, 2, seed=0)] == [5, 5]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train": torch.ones(1, 3), "train_labels": torch.zeros(1).long()}, "at least 2 rows"),
        ({"train_labels": torch.zeros(4).long()}, "two classes"),
        ({"rates": ()}, "rates above 0"),
        ({"rates": (-1.0,)}, "rates above 0"),
        ({"steps": 0}, "at least 1 step"),
        ({"test": torch.ones(4, 2)}, "same dimension"),
    ],
)
def test_the_probe_says_what_is_wrong(change, words):
    rows, labels = torch.eye(4)[:, :3], torch.arange(4)
    given = {"train": rows, "train_labels": labels, "test": rows, "test_labels": labels} | change
    with pytest.raises(UserError, match=words):
        linear_probe(**given)


# -------------------------------------------------------------------- device


@pytest.mark.skipif(torch.__version__ < "2.9", reason="torch 2.8 hands no array out in its fake mode")
def test_a_gpu_is_waited_for_once(monkeypatch):
    found = []

    def read(numbers):
        assert numbers.device.type == "cuda"
        found.append(tuple(numbers.shape))
        return np.zeros(numbers.shape, np.int64 if numbers.dtype == torch.int64 else np.float64)

    monkeypatch.setattr(checks, "read", read)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # torch has no fake form of pinned memory
    labels = torch.arange(12) % 3
    with FakeTensorMode(allow_non_fake_inputs=True):
        rows = torch.empty(12, 4, device="cuda")
        for work in (
            lambda: knn_accuracy(rows, labels, rows, labels, k=3, rows=5),
            lambda: uniformity(rows),
            lambda: alignment(rows, rows),
            lambda: class_collapse(rows, labels),
        ):
            found.clear()
            work()
            assert len(found) == 1
