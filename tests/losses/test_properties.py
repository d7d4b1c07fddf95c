"""What holds for any batch: order and names of labels do not matter, bounds are bounds, chunks change nothing."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.losses.batches import CORNERS, Batch, draw
from tests.losses.reference import (
    hap,
    ndcg,
    over_queries,
    relevances,
    weighted_relevances,
)
from tests.losses.test_against_reference import FAMILIES
from trainers.errors import UserError
from trainers.losses import LOSSES, _batch
from trainers.losses._bound import BoundParameters, resolve

QUICK = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SUP = ("sup_ap", "sup_hap", "sup_hap_weighted_ap", "sup_ndcg", "sup_recall")
SMOOTH = ("smooth_ap", "smooth_hap", "smooth_ndcg", "smooth_recall", "recall_at_k_patel")


@st.composite
def batches(draw_from: st.DrawFn) -> Batch:
    sizes = draw_from(st.lists(st.integers(1, 5), min_size=2, max_size=5))
    depth = draw_from(st.integers(1, 4))
    return draw(sizes, depth, draw_from(st.integers(0, 10_000)), spread=draw_from(st.sampled_from((0.02, 0.5, 3.0))))


def built(name: str, batch: Batch, **parameters):
    torch.manual_seed(0)
    return LOSSES[name].build(num_classes=batch.classes, dim=batch.embeddings.shape[1], **parameters).double()


def value_and_gradient(module, embeddings: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    embeddings = embeddings.clone().requires_grad_()
    loss = module(embeddings, labels)
    loss.backward()
    return loss.detach(), embeddings.grad


@pytest.mark.parametrize("name", FAMILIES)
@QUICK
@given(batch=batches(), seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(name: str, batch: Batch, seed: int) -> None:
    module = built(name, batch)
    turn = torch.randperm(len(batch.labels), generator=torch.Generator().manual_seed(seed))
    loss, gradient = value_and_gradient(module, batch.embeddings, batch.labels)
    turned, turned_gradient = value_and_gradient(module, batch.embeddings[turn], batch.labels[turn])
    torch.testing.assert_close(turned, loss, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(turned_gradient, gradient[turn], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in FAMILIES if not LOSSES[name].proxies])
@QUICK
@given(batch=batches())
def test_the_names_of_classes_do_not_matter(name: str, batch: Batch) -> None:
    module = built(name, batch)
    renamed = 7 * (batch.labels.max() - batch.labels) + torch.arange(batch.labels.shape[1])
    loss, gradient = value_and_gradient(module, batch.embeddings, batch.labels)
    again, again_gradient = value_and_gradient(module, batch.embeddings, renamed)
    torch.testing.assert_close(again, loss, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(again_gradient, gradient, rtol=1e-6, atol=1e-8)


@QUICK
@given(batch=batches())
def test_bounds_are_never_below_the_counted_metrics(batch: Batch) -> None:
    # With a vanishing sigmoid and no growth beyond it the bound is the step itself, and the loss the metric's.
    step = {"tau": 1e-9, "delta": 0.0, "rho": 0.0, "start": 0.5, "offset": 1.0}
    depth = batch.labels.shape[1]
    metrics = {
        "sup_ap": hap(lambda levels: [float(v) for v in levels], step),
        "sup_hap": hap(lambda levels: relevances(levels, depth, 1.0), step),
        "sup_hap_weighted_ap": hap(lambda levels: weighted_relevances(levels, [1.0 / depth] * depth), step),
        "sup_ndcg": ndcg(step),
    }
    for name, score in metrics.items():
        labels = batch.labels[:, :1] if name == "sup_ap" else batch.labels
        metric = over_queries(batch.embeddings, labels, None, None, score).item()
        assert built(name, batch)(batch.embeddings, labels).item() >= metric - 1e-9


@pytest.mark.parametrize("name", SUP + SMOOTH)
@pytest.mark.parametrize("corner", ["imbalanced", "three levels, singletons", "gallery", "ties"])
def test_chunks_change_nothing(name: str, corner: str) -> None:
    batch = CORNERS[corner]
    found = []
    for budget in (1, 7, 100, 10**6):
        module = built(name, batch)
        module.ranker = dataclasses.replace(module.ranker, budget=budget)
        embeddings = batch.embeddings.clone().requires_grad_()
        loss = module(embeddings, batch.labels, batch.gallery, batch.gallery_labels)
        loss.backward()
        found.append((loss.detach(), embeddings.grad))
    for loss, gradient in found[1:]:
        torch.testing.assert_close(loss, found[0][0], rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(gradient, found[0][1], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ("sup_hap", "sup_ndcg"))
@pytest.mark.parametrize("budget", (500, 10**6))
def test_many_ranked_items_take_the_sorted_form_and_agree_with_the_dense_one(
    name: str, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = draw([4, 7, 1, 9, 6, 12, 3], 3, 5, spread=0.4)
    module = built(name, batch)
    module.ranker = dataclasses.replace(module.ranker, budget=budget)
    loss, gradient = value_and_gradient(module, batch.embeddings, batch.labels)
    for few in (0, 10**6):
        monkeypatch.setattr("trainers.losses._bound.FEW", few)
        again, again_gradient = value_and_gradient(module, batch.embeddings, batch.labels)
        torch.testing.assert_close(again, loss, rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(again_gradient, gradient, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", [name for name in FAMILIES if LOSSES[name].gallery])
def test_a_gallery_without_any_positive_gives_zero_and_no_gradient(name: str) -> None:
    batch = CORNERS["flat"]
    parameters = {"weight_proxy": 0.0} if LOSSES[name].proxies else {}
    parameters |= {"neg_margin": 1.0} if hasattr(LOSSES[name].parameters, "neg_margin") else {}
    module = built(name, batch, **parameters)
    embeddings = batch.embeddings.clone().requires_grad_()
    loss = module(embeddings, batch.labels, batch.embeddings.flip(0), batch.labels + 100)
    loss.backward()
    assert abs(loss.item()) < 1e-12  # a cosine of an item with its own copy may exceed 1 by rounding
    assert embeddings.grad.abs().max() < 1e-12


def test_simix_draws_from_the_global_generator_and_trains() -> None:
    batch = CORNERS["imbalanced"]
    module = built("recall_at_k_patel", batch, simix=True)
    losses = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        losses.append(value_and_gradient(module, batch.embeddings, batch.labels))
    assert losses[0][0] == losses[1][0] != losses[2][0]
    assert torch.isfinite(losses[0][1]).all()
    assert losses[0][1].abs().sum() > 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, y: _batch.Batch.of(x[0], y), "embeddings of shape"),
        (lambda x, y: _batch.Batch.of(x, y[:-1]), "whole-number labels"),
        (lambda x, y: _batch.Batch.of(x, y.float()), "whole-number labels"),
        (lambda x, y: _batch.Batch.of(x, y, x), "gallery_labels"),
        (lambda x, y: _batch.Batch.of(x, y, x, y[:, 0]), "level"),
        (lambda x, y: LOSSES["proxy_nsm"].build(num_classes=2, dim=6).double()(x, y), "num_classes"),
        (lambda x, y: LOSSES["recall_at_k_patel"].build(num_classes=2, dim=6, tau_k=(1.0, 2.0)), "tau_k"),
        (
            lambda x, y: LOSSES["sup_hap_weighted_ap"].build(
                num_classes=2, dim=6, level_weights_coarse_to_fine=(1.0, 0.0, 0.0)
            )(x, y),
            "one weight per level",
        ),
    ],
)
def test_what_does_not_fit_is_said(call, words: str) -> None:
    batch = CORNERS["two levels"]
    with pytest.raises(UserError, match=words):
        call(batch.embeddings, batch.labels)


@pytest.mark.parametrize("name", ["triplet", "multi_similarity", "fastap", "softbin_ap", "blackbox_ap", "contextual"])
@pytest.mark.parametrize("levels", [(), (2,)], ids=["flat", "two levels"])
def test_a_batch_without_images_is_refused_in_words(name: str, levels: tuple[int, ...]) -> None:
    loss = LOSSES[name].build(num_classes=4, dim=8)
    with pytest.raises(UserError, match="in a batch"):
        loss(torch.empty(0, 8), torch.empty(0, *levels, dtype=torch.int64))


def test_delta_is_the_printed_one_at_the_printed_tau_and_one_that_is_set_stays() -> None:
    assert resolve(BoundParameters()).delta == 0.05
    assert resolve(BoundParameters(tau=0.01, delta=0.05)) == resolve(BoundParameters())
    assert resolve(BoundParameters(tau=0.1, delta=0.05)).delta == 0.05
    assert resolve(BoundParameters(tau=0.1, delta=0.0)).delta == 0.0


@pytest.mark.parametrize("tau", [0.001, 0.01, 0.03, 0.1, 1.0])
def test_delta_follows_tau_to_where_the_sigmoid_is_flat(tau: float) -> None:
    bound = resolve(BoundParameters(tau=tau))
    eps = 1.0 - bound.edge
    assert bound.delta == pytest.approx(tau * math.log((1.0 - eps) / eps))
    assert eps == pytest.approx(1 / (1 + math.e**5)) and eps < 0.01
    assert bound.edge_slope * tau == pytest.approx(eps * (1.0 - eps))  # the slope there, in units of 1 / tau
    assert bound.offset == pytest.approx(bound.start + bound.edge)  # continuous
