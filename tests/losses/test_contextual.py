"""The contextual loss: values as sets and loops, the straight-through gradient, the three totals."""

from __future__ import annotations

import json

import pytest
import torch

from tests.losses.slow_contrastive import contextual_parts, contextual_similarity, grad
from tests.oracle_cases import assert_loss, cases, load
from trainers.errors import UserError
from trainers.losses import LOSSES
from trainers.losses import contextual as module


def build(**parameters):
    return LOSSES["contextual"].build(num_classes=0, dim=5, **parameters)


def world(seed: int, count: int = 15, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randn(count, 5, dtype=torch.float64, requires_grad=True), torch.randint(0, classes, (count,))


@pytest.mark.parametrize("stem", cases("contextual"))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_reference_cases(stem, dtype):
    assert_loss(stem, dtype)


@pytest.mark.parametrize("stem", cases("contextual"))
def test_reference_parts_totals_and_similarity(stem):
    with load(stem) as case:
        given = json.loads(str(case["hparams"]))
        given.pop("combine")
        emb, labels = torch.tensor(case["emb"]).double().requires_grad_(), torch.tensor(case["labels"])
        parts = build(**given).parts(emb, labels)
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
        got = build(k=k, eps=eps).parts(emb, labels)
        want = contextual_parts(emb, labels, w, 0.75, 0.6, 0.25)
        for name, value in want.items():
            torch.testing.assert_close(got[name], value, atol=1e-12, rtol=1e-12)
        for name in ("contrast", "regulariser"):
            torch.testing.assert_close(grad(got[name], emb), grad(want[name], emb), atol=1e-12, rtol=1e-9)


def test_the_saved_product_changes_neither_value_nor_gradient():
    """With the complements multiplied out, as the definition reads."""

    def plainly(similarity, k, eps, alpha):
        n, d = len(similarity), (2 - 2 * similarity).clamp(min=0)
        radii = d.detach().sort(1).values
        near = module.Step.apply(radii[:, k - 1 : k] + eps - d, alpha)
        close = module.Step.apply(radii[:, k // 2 - 1 : k // 2] + eps - d, alpha)
        count = near.sum(1, keepdim=True).detach()
        both, neither = near @ near.T, (1 - near) @ (1 - near).T
        w1 = near / 2 * (both / count + neither / (n - count))
        mutual = close * close.T
        w2 = mutual @ w1 / mutual.sum(1, keepdim=True)
        return (w2 + w2.T) / 2

    emb, _ = world(3)
    unit = torch.nn.functional.normalize(emb)
    weights = torch.randn(15, 15, dtype=torch.float64)
    results = []
    for function in (module.contextual_similarity, plainly):
        w = function(unit @ unit.T, 4, 0.05, 10.0)
        results.append((w, grad((w * weights).sum(), emb)))
    torch.testing.assert_close(results[0][0], results[1][0], atol=1e-13, rtol=0)
    torch.testing.assert_close(results[0][1], results[1][1], atol=1e-11, rtol=1e-10)


def test_the_step_passes_a_constant_slope():
    z = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    step = module.Step.apply(z, 7.0)
    step.sum().backward()
    assert step.tolist() == [0.0, 1.0, 1.0]
    assert z.grad.tolist() == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("total", ["paper", "official_256", "official_224"])
def test_terms_add_up_with_their_weights(total):
    emb, labels = world(4)
    loss = build(lam=0.3, gamma=0.2, total=total)
    parts, terms = loss.parts(emb, labels), loss.terms(emb, labels)
    weights = {"paper": (0.3, 0.7), "official_256": (0.3, 0.5), "official_224": (0.7, 0.3)}[total]
    torch.testing.assert_close(terms["context"], weights[0] * parts["context"])
    torch.testing.assert_close(terms["contrast"], weights[1] * parts["contrast"])
    torch.testing.assert_close(terms["regulariser"], 0.2 * parts["regulariser"])
    torch.testing.assert_close(loss(emb, labels), sum(terms.values()))


def test_row_order_and_class_names_change_nothing():
    emb, labels = world(5)
    order = torch.randperm(len(emb))
    want = build()(emb, labels)
    torch.testing.assert_close(build()(emb[order], labels[order]), want)
    torch.testing.assert_close(build()(emb, 50 - labels), want)


def test_classes_need_not_be_equal_nor_have_k_images():
    emb, _ = world(6)
    labels = torch.tensor([0] * 7 + [1] * 3 + [2, 3, 4, 5, 6])
    loss = build()(emb, labels)
    loss.backward()
    assert torch.isfinite(emb.grad).all()


def test_everyone_a_neighbour_is_no_division_by_zero():
    emb, labels = world(7)
    loss = build(eps=1.0, k=14)(emb, labels)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(emb.grad).all()


def test_a_batch_no_larger_than_a_neighbourhood_is_refused():
    with pytest.raises(UserError, match="k = 4; 4 came"):
        build()(torch.randn(4, 5), torch.zeros(4))
    with pytest.raises(UserError, match="gallery"):
        build()(torch.randn(9, 5), torch.zeros(9), torch.randn(9, 5), torch.zeros(9))
