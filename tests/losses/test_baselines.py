"""The baselines: what the library computes is the formula shown, and batches it cannot use are refused."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tests.losses.reference import asked, blackbox_ap, grad, rows_of
from trainers.errors import UserError
from trainers.losses import LOSSES

TRIPLETS = ("triplet", "triplet_semihard", "triplet_hard", "triplet_distance_weighted")
PROXIES = ("proxy_anchor", "proxy_nca_pp", "arcface")
RANKING = ("fastap", "softbin_ap", "blackbox_ap")
LABELS = torch.tensor([2, 0, 1, 0, 2, 0, 1, 3, 2, 4])


def build(name: str, **parameters):
    return LOSSES[name].build(num_classes=6, dim=5, **parameters).double()


def world(seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randn(len(LABELS), 5, dtype=torch.float64, requires_grad=True)


def distances(emb):
    x = rows_of(emb)
    return [[(x[i] - x[j]).norm() for j in range(len(x))] for i in range(len(x))]


def test_distance_weighted_triplets_are_drawn_from_the_global_generator():
    emb, values = world(), set()
    for seed in (0, 0, 1, 2):
        torch.manual_seed(seed)
        values.add(build("triplet_distance_weighted")(emb, LABELS).item())
    assert len(values) == 3


def test_proxy_anchor():
    emb, loss = world(3), build("proxy_anchor", margin=0.2, alpha=4.0)
    s = rows_of(emb) @ rows_of(loss.proxies).T
    pull, push = 0.0, 0.0
    for c in range(6):
        own = c == LABELS
        pull = pull + torch.log1p(torch.exp(-4 * (s[own, c] - 0.2)).sum())
        push = push + torch.log1p(torch.exp(4 * (s[~own, c] + 0.2)).sum())
    got, want = loss(emb, LABELS), pull / len(LABELS.unique()) + push / 6
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(grad(got, loss.proxies), grad(want, loss.proxies), rtol=1e-8, atol=1e-9)


def test_proxy_nca():
    emb, loss = world(4), build("proxy_nca_pp", temperature=0.2)
    square = torch.cdist(rows_of(emb), rows_of(loss.proxies)).square()
    want = functional.cross_entropy(-square / 0.2, LABELS)
    torch.testing.assert_close(loss(emb, LABELS), want, rtol=1e-9, atol=1e-9)


def test_arcface_agrees_with_the_library():
    from pytorch_metric_learning import losses

    emb, loss = world(5), build("arcface", margin=0.5, scale=16.0)
    theirs = losses.ArcFaceLoss(6, 5, margin=math.degrees(0.5), scale=16.0)
    theirs.W.data = loss.proxies.detach().T.clone()
    got, want = loss(emb, LABELS), theirs(emb, LABELS)
    torch.testing.assert_close(got, want, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(grad(got, emb), grad(want, emb), rtol=1e-6, atol=1e-8)


def test_arcface_past_the_half_turn_and_on_the_proxy_itself():
    loss = build("arcface", margin=0.5, scale=4.0)
    emb = torch.cat([loss.proxies.detach(), -loss.proxies.detach()]).requires_grad_()
    value = loss(emb, torch.arange(6).repeat(2))
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(emb.grad).all()


def test_blackbox_ap_is_one_minus_ap_and_its_slope_pulls_positives_up():
    emb, loss = world(8), build("blackbox_ap", margin=0.0, lam=1.0)
    got = loss(emb, LABELS)
    assert got.item() == pytest.approx(blackbox_ap(asked(emb.detach(), LABELS), 0.0).item(), abs=1e-12)
    rows = emb.detach().clone().requires_grad_()
    for _ in range(40):
        loss(rows, LABELS).backward()
        with torch.no_grad():
            rows -= 0.3 * rows.grad
            rows.grad = None
    assert loss(rows, LABELS) < got - 0.05


@pytest.mark.parametrize("name", [*TRIPLETS, "multi_similarity", *RANKING])
def test_a_batch_without_positives_is_refused(name):
    with pytest.raises(UserError, match=r"two images of at least one class .* 10 images of 10 classes"):
        build(name)(world(), torch.arange(10))


@pytest.mark.parametrize("name", [*TRIPLETS, "multi_similarity"])
def test_a_batch_of_one_class_is_refused(name):
    with pytest.raises(UserError, match="two classes or more"):
        build(name)(world(), torch.zeros(10, dtype=torch.long))


@pytest.mark.parametrize("name", PROXIES)
def test_proxies_are_there_and_unknown_classes_refused(name):
    loss = build(name)
    assert loss.proxies.shape == (6, 5)
    assert any(p is loss.proxies for p in loss.parameters())
    with pytest.raises(UserError, match="classes 0 to 5; got label 7"):
        loss(world(), torch.full((10,), 7))
    with pytest.raises(UserError, match="gallery"):
        loss(world(), LABELS, world(), LABELS)


def library(name: str):
    """The same loss by pytorch-metric-learning, and its settings here."""
    from pytorch_metric_learning import losses, miners

    return {
        "triplet": (losses.TripletMarginLoss(0.2), None, {}),
        "triplet, swapped": (losses.TripletMarginLoss(0.3, swap=True), None, {"margin": 0.3, "swap": True}),
        "triplet_semihard": (losses.TripletMarginLoss(0.2), miners.TripletMarginMiner(0.2, "semihard"), {}),
        "triplet_hard": (losses.TripletMarginLoss(0.2, swap=True), miners.BatchHardMiner(), {"swap": True}),
        "multi_similarity": (losses.MultiSimilarityLoss(2, 50, 0.5), miners.MultiSimilarityMiner(0.1), {}),
        "contrastive": (losses.ContrastiveLoss(0.1, 0.9), None, {"pos_margin": 0.1, "neg_margin": 0.9}),
        "fastap": (losses.FastAPLoss(10), None, {}),
    }[name]


@pytest.mark.parametrize(
    "name",
    ["triplet", "triplet, swapped", "triplet_semihard", "triplet_hard", "multi_similarity", "contrastive", "fastap"],
)
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_fixed_shapes_give_what_the_library_gives_from_lists(name, spread):
    loss, miner, given = library(name)
    torch.manual_seed(1)
    labels = torch.randint(0, 9, (40,))
    emb = torch.randn(9, 6, dtype=torch.float64)[labels] + spread * torch.randn(40, 6, dtype=torch.float64)
    emb.requires_grad_()
    want = loss(emb, labels, None if miner is None else miner(emb, labels))
    got = build(name.split(",")[0], **given)(emb, labels)
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(grad(got, emb), grad(want, emb), rtol=1e-6, atol=1e-8)


def test_weighted_negatives_are_drawn_as_often_as_their_weights_say():
    from trainers.losses._batch import Batch
    from trainers.losses.pairs import negative_weights

    emb = world(9)
    batch = Batch.of(emb, LABELS)
    d, dim = distances(emb.detach()), emb.shape[1]
    for i in range(len(emb)):
        want = []
        for j in range(len(emb)):
            far = max(float(d[i][j]), 0.5)
            q = far ** (dim - 2) * (1 - far**2 / 4) ** ((dim - 3) / 2)
            want.append(1 / q if LABELS[i] != LABELS[j] and d[i][j] < 1.4 else 0.0)
        got, want = negative_weights(batch)[i], torch.tensor(want, dtype=torch.float64)
        torch.testing.assert_close(got / got.sum().clamp(min=1e-300), want / want.sum().clamp(min=1e-300))
