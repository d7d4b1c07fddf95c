"""The contextual loss: values as sets and loops, the straight-through gradient, the three totals."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from tests.losses.reference import contextual_parts, contextual_similarity, grad
from tests.oracle_cases import cases, load
from trainers.errors import UserError
from trainers.losses import LOSSES
from trainers.losses import contextual as module
from trainers.losses._batch import Batch


def build(**parameters):
    return LOSSES["contextual"].build(num_classes=0, dim=5, **parameters)


def unweighted(loss: module.Contextual, emb: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
    return loss.unweighted(Batch.of(emb, labels))


def world(seed: int, count: int = 15, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randn(count, 5, dtype=torch.float64, requires_grad=True), torch.randint(0, classes, (count,))


@pytest.mark.parametrize("stem", cases("contextual"))
def test_reference_parts_totals_and_similarity(stem):
    with load(stem) as case:
        given = json.loads(str(case["hparams"]))
        given.pop("combine")
        emb, labels = torch.tensor(case["emb"]).double().requires_grad_(), torch.tensor(case["labels"])
        parts = unweighted(build(**given), emb, labels)
        names = {"context": "context", "contrast": "contrast", "regulariser": "reg"}
        for ours, theirs in names.items():
            assert parts[ours].item() == pytest.approx(float(case[f"loss_{theirs}"]), abs=1e-12)
            want = torch.tensor(case[f"grad_{theirs}"])
            torch.testing.assert_close(grad(parts[ours], emb), want, rtol=1e-9, atol=1e-12)
        for total in ("official_256", "official_224"):
            assert build(total=total, **given)(emb, labels).item() == pytest.approx(float(case[f"loss_{total}"]))
        unit = torch.nn.functional.normalize(emb)
        w = module.contextual_similarity(unit @ unit.T, given["k"], given["eps"], given["alpha"])
        torch.testing.assert_close(w, torch.tensor(case["contextual_similarity"]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("k", "eps"), [(2, 0.0), (4, 0.05), (5, 0.3), (6, 0.0)])
def test_values_as_sets_of_neighbours(k, eps):
    for seed in range(3):
        emb, labels = world(seed)
        w = contextual_similarity(emb.detach(), k, eps)
        unit = torch.nn.functional.normalize(emb)
        torch.testing.assert_close(module.contextual_similarity(unit @ unit.T, k, eps, 10.0), w, atol=1e-12, rtol=0)
        got = unweighted(build(k=k, eps=eps), emb, labels)
        want = contextual_parts(emb, labels, w, 0.75, 0.6, 0.25)
        for name, value in want.items():
            torch.testing.assert_close(got[name], value, atol=1e-12, rtol=1e-12)
        for name in ("contrast", "regulariser"):
            torch.testing.assert_close(grad(got[name], emb), grad(want[name], emb), atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("total", ["paper", "official_256", "official_224"])
def test_terms_add_up_with_their_weights(total):
    emb, labels = world(4)
    loss = build(lam=0.3, gamma=0.2, total=total)
    parts, terms = unweighted(loss, emb, labels), loss.terms(emb, labels)
    weights = {"paper": (0.3, 0.7), "official_256": (0.3, 0.5), "official_224": (0.7, 0.3)}[total]
    torch.testing.assert_close(terms["context"], weights[0] * parts["context"])
    torch.testing.assert_close(terms["contrast"], weights[1] * parts["contrast"])
    torch.testing.assert_close(terms["regulariser"], 0.2 * parts["regulariser"])
    torch.testing.assert_close(loss(emb, labels), sum(terms.values()))


def test_everyone_a_neighbour_is_no_division_by_zero():
    emb, labels = world(7)
    loss = build(eps=1.0, k=14)(emb, labels)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(emb.grad).all()


def correctly_ranked(emb: torch.Tensor, labels: torch.Tensor) -> bool:
    """Every image has the last of its class before the first of any other."""
    x, same = torch.nn.functional.normalize(emb), labels[:, None] == labels
    last = (x @ x.T).masked_fill(~same, torch.inf).amin(1)
    return bool((last > (x @ x.T).masked_fill(same, -torch.inf).amax(1)).all())


@pytest.mark.parametrize(("m", "classes"), [(2, 3), (4, 3), (4, 5), (6, 3)])
def test_zero_loss_is_a_correct_ranking_and_the_other_way_round(m, classes):
    """Proposition 4.1: m images of each class, k = m, more than 2 k images, eps = 0."""
    labels = torch.arange(classes).repeat(m)
    seen = {True: 0, False: 0}
    for seed in range(60):
        torch.manual_seed(seed)
        centres = torch.randn(classes, 5, dtype=torch.float64)
        spread = 10 ** torch.empty(1).uniform_(-1.5, 0.5).item()
        emb = centres[labels] + spread * torch.randn(len(labels), 5, dtype=torch.float64)
        right = correctly_ranked(emb, labels)
        loss = unweighted(build(eps=0.0), emb, labels)["context"].item()
        assert (loss == 0.0) == right, (seed, loss)
        assert right or loss > 1e-4
        seen[right] += 1
    assert min(seen.values()) >= 10


@pytest.mark.parametrize("m", [4, 6])
def test_k_is_the_images_per_class_of_the_batch(m):
    torch.manual_seed(m)
    emb, labels = torch.randn(5 * m, 5), torch.arange(5).repeat(m)
    assert build()(emb, labels) == build(k=m)(emb, labels) != build(k=m - 2)(emb, labels)


def test_k_where_classes_are_not_equal_is_what_most_images_have():
    torch.manual_seed(1)
    emb, labels = torch.randn(15, 5), torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5])
    assert build()(emb, labels) == build(k=3)(emb, labels)
    alone = torch.arange(15)
    assert build()(emb, alone) == build(k=2)(emb, alone)


@pytest.mark.parametrize(
    ("k", "images", "classes", "good"),
    [
        (None, 4, 32, True),
        (None, 6, 3, True),
        (4, 4, 32, True),
        (None, 5, 32, False),
        (None, 2, 32, False),
        (6, 4, 32, False),
        (5, 5, 32, False),
        (None, 4, 2, False),
    ],
)
def test_batches_that_do_not_suit_it_are_named(k, images, classes, good):
    said = LOSSES["contextual"].advice(module.ContextualParameters(k=k), images, classes)
    assert (said == "") == good
    if not good:
        assert f"k is {k or images}, with {images} images per class and {classes} classes" in said


def test_a_batch_no_larger_than_a_neighbourhood_is_refused():
    with pytest.raises(UserError, match="k = 4; got 4"):
        build()(torch.randn(4, 5), torch.zeros(4).long())
    with pytest.raises(UserError, match="gallery"):
        build()(torch.randn(9, 5), torch.zeros(9).long(), torch.randn(9, 5), torch.zeros(9).long())


def crowd(count: int, classes: int, spread: float, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines of a batch round its classes, with a copy among the images, and labels."""
    torch.manual_seed(count)
    labels = torch.arange(count) % classes
    emb = torch.nn.functional.normalize(torch.randn(classes, 16)[labels] + spread * torch.randn(count, 16))
    emb[1] = emb[0]
    emb = torch.nn.functional.normalize(emb.to(dtype))
    return (emb @ emb.T).requires_grad_(), labels


def by_lists(similarity, labels, k, parameters, monkeypatch):
    """The three terms by lists of neighbours, however small the batch and however many neighbours there are."""
    lists = module.lists(similarity.dtype)
    monkeypatch.setattr(lists, "SMALL", 0)
    monkeypatch.setattr(lists, "FULL", 2)
    monkeypatch.setattr(lists, "WORK", 10)
    return module.listed(similarity, labels, k, parameters).terms(similarity)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    ("count", "classes", "spread", "k", "eps"),
    [
        (40, 8, 0.5, 4, 0.05),
        (60, 10, 1.5, 5, 0.0),
        (33, 6, 2.0, 2, 0.2),
        (30, 3, 0.02, 4, 0.05),
        (30, 30, 1.0, 7, 1.0),
        (25, 1, 1.0, 4, 0.1),
        (380, 95, 1.0, 4, 0.05),
        (400, 20, 1.0, 20, 0.3),
    ],
)
def test_lists_of_neighbours_give_what_whole_matrices_give(count, classes, spread, k, eps, dtype, threads, monkeypatch):
    """Value and gradient of every term, on small and on large neighbourhoods, classes tight and loose."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    similarity, labels = crowd(count, classes, spread, dtype)
    given = module.ContextualParameters(eps=eps)
    found = by_lists(similarity, labels, k, given, monkeypatch)
    near = 1e-12 if dtype == torch.float64 else 2e-5
    for got, want in zip(found, module.whole(similarity, labels, k, given), strict=True):
        torch.testing.assert_close(got, want, rtol=near, atol=near / 10)
        slope, expected = grad(got, similarity), grad(want, similarity)
        # On the diagonal and between copies the distance is 0 or rounding: no gradient reaches the embeddings there.
        apart = 2 - 2 * similarity.detach() > 1e-5
        torch.testing.assert_close(slope * apart, expected * apart, rtol=near, atol=near * expected.abs().max().item())


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    similarity, labels = crowd(400, 100, 1.0, torch.float32)
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        loss = sum(by_lists(similarity, labels, 4, module.ContextualParameters(), monkeypatch))
        results.append((loss.item(), grad(loss, similarity)))
    assert all(value == results[0][0] and torch.equal(slope, results[0][1]) for value, slope in results)


@pytest.mark.parametrize(("spread", "chosen"), [(1.0, True), (0.0001, False)])
def test_a_collapsed_batch_is_left_to_whole_matrices(spread, chosen):
    torch.manual_seed(0)
    labels = torch.arange(200) // 4
    emb = torch.nn.functional.normalize(torch.ones(200, 64) + 3 * spread * torch.randn(200, 64))
    plan = module.listed(emb @ emb.T, labels, 4, module.ContextualParameters())
    assert (plan is not None) == chosen


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_what_is_no_number_stays_none(broken):
    torch.manual_seed(0)
    emb, labels = torch.randn(200, 8), torch.arange(200) // 4
    emb[3, 2] = broken
    assert not torch.isfinite(build()(emb, labels))


def test_without_numba_whole_matrices_give_the_same(monkeypatch):
    torch.manual_seed(0)
    emb, labels = torch.randn(200, 8), torch.arange(200) // 4
    by_lists = build()(emb, labels)
    similarity = torch.nn.functional.normalize(emb) @ torch.nn.functional.normalize(emb).T
    module.lists.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "trainers.losses._contextual_lists", None)
            patch.delattr("trainers.losses._contextual_lists", raising=False)
            assert module.listed(similarity, labels, 4, module.ContextualParameters()) is None
            torch.testing.assert_close(build()(emb, labels), by_lists)
    finally:
        module.lists.cache_clear()
    assert module.listed(similarity, labels, 4, module.ContextualParameters()) is not None
