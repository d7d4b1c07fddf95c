"""Losses summed over the label tree by loops in float64: levels of another loss on that level's labels, and CSL."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tests.losses.reference import grad, rows_of
from trainers.errors import UserError
from trainers.losses import LOSSES

TREE = torch.tensor([[0, 7, 1], [1, 7, 1], [2, 3, 1], [3, 3, 1], [4, 9, 4], [5, 9, 4]])  # coarse ids with gaps
NAMES = ("triplet_levels", "proxy_nsm_levels", "proxy_nca_pp_levels")


def build(name: str, depth: int = 3, **parameters):
    torch.manual_seed(0)
    return LOSSES[name].build(num_classes=6, dim=5, class_labels=TREE[:, :depth], **parameters).double()


def world(depth: int = 3, count: int = 11) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(depth)
    emb = torch.randn(count, 5, dtype=torch.float64, generator=generator).requires_grad_()
    finest = torch.cat([torch.tensor([0, 0, 2]), torch.randint(0, 6, (count - 3,), generator=generator)])
    return emb, TREE[finest][:, :depth]


def triplets(emb, labels, *, margin, cosine, which) -> torch.Tensor:
    """The mean positive hinge over one level, by its definition."""
    x = rows_of(emb)
    far = [[1 - x[i] @ x[j] if cosine else (x[i] - x[j]).norm() for j in range(len(x))] for i in range(len(x))]
    hinges = []
    for a in range(len(x)):
        positives = [p for p in range(len(x)) if p != a and labels[p] == labels[a]]
        negatives = [n for n in range(len(x)) if labels[n] != labels[a]]
        if which == "hard" and positives and negatives:
            positives = [max(positives, key=lambda p, a=a: far[a][p].item())]
            negatives = [min(negatives, key=lambda n, a=a: far[a][n].item())]
        pairs = [(far[a][p], far[a][n]) for p in positives for n in negatives]
        if which == "semihard":
            pairs = [(near, other) for near, other in pairs if near < other <= near + margin]
        hinges += [near - other + margin for near, other in pairs if near - other + margin > 0]
    return sum(hinges) / len(hinges) if hinges else emb.sum() * 0


@pytest.mark.parametrize("reduce_levels", ["sum", "mean"])
@pytest.mark.parametrize("which", ["all", "semihard", "hard"])
@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_triplets_of_every_level(which, distance, reduce_levels):
    emb, labels = world()
    given = {"margin": 0.3, "triplets": which, "distance": distance, "reduce_levels": reduce_levels}
    got = build("triplet_levels", **given)(emb, labels)
    levels = [triplets(emb, column, margin=0.3, cosine=distance == "cosine", which=which) for column in labels.T]
    want = sum(levels) / (3 if reduce_levels == "mean" else 1)
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(grad(got, emb), grad(want, emb), rtol=1e-7, atol=1e-10)


def softmax_of(name: str, cosine: torch.Tensor) -> torch.Tensor:
    return cosine / 0.05 if name == "proxy_nsm_levels" else -(2 - 2 * cosine) * 9


@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.parametrize("depth", [1, 3])
def test_proxies_of_every_level(name, depth):
    emb, labels = world(depth)
    loss = build(name, depth)
    assert loss.proxies.shape == (6, 5)
    sets = list(loss.parameters())
    assert [len(one) for one in sets] == [6, 3, 2][:depth]
    want = emb.new_zeros(())
    for column, classes, proxies in zip(labels.T, TREE.T, sets, strict=False):
        names = classes.unique().tolist()
        logits = softmax_of(name, rows_of(emb) @ rows_of(proxies).T)
        want = want + functional.cross_entropy(logits, torch.tensor([names.index(y) for y in column.tolist()]))
    got = loss(emb, labels)
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(grad(got, emb), grad(want, emb), rtol=1e-7, atol=1e-9)
    for one in sets:
        torch.testing.assert_close(grad(got, one), grad(want, one), rtol=1e-7, atol=1e-9)
    mean = build(name, depth, reduce_levels="mean")
    torch.testing.assert_close(mean(emb, labels), got / depth)


@pytest.mark.parametrize("name", [*NAMES, "csl"])
def test_a_level_at_which_all_agree_adds_nothing(name):
    tree = torch.stack([torch.arange(6), torch.zeros(6, dtype=torch.long)], 1)
    loss = LOSSES[name].build(num_classes=6, dim=5, class_labels=tree).double()
    emb, labels = world(2)
    terms = loss.terms(emb, torch.stack([labels[:, 0], torch.zeros(len(labels), dtype=torch.long)], 1))
    assert terms["level_1"] == 0 and terms["level_0"] > 0
    assert all(torch.isfinite(grad(sum(terms.values()), leaf)).all() for leaf in (emb, *loss.parameters()))


def test_what_does_not_fit_is_said():
    emb, labels = world()
    with pytest.raises(UserError, match="label tree"):
        LOSSES["proxy_nsm_levels"].build(num_classes=6, dim=5)
    with pytest.raises(UserError, match="each of 7 classes; got 6"):
        LOSSES["proxy_nsm_levels"].build(num_classes=7, dim=5, class_labels=TREE)
    with pytest.raises(UserError, match="proxies for 3 levels; got labels of 1"):
        build("proxy_nca_pp_levels")(emb, labels[:, 0])
    with pytest.raises(UserError, match=r"3 classes of level 1 .* got label 8"):
        build("proxy_nca_pp_levels")(emb[:1], torch.tensor([[0, 8, 1]]))
    with pytest.raises(UserError, match="two images of at least one class"):
        build("triplet_levels")(emb[:6], TREE)
    with pytest.raises(UserError, match="takes no gallery"):
        build("proxy_nca_pp_levels")(emb, labels, emb, labels)


EIGHT = torch.stack([torch.arange(8), torch.arange(8) // 2, torch.arange(8) // 4], 1)


def csl(depth: int = 3, **parameters):
    return LOSSES["csl"].build(num_classes=8, dim=5, class_labels=EIGHT[:, :depth], **parameters).double()


def csl_by_loops(emb, labels, proxies, proxy_labels, margins, scale):
    x, p = rows_of(emb), rows_of(proxies)
    total = torch.zeros((), dtype=torch.float64)
    for level, margin in enumerate(margins):
        for i in range(len(x)):
            own = sum(torch.exp(-scale * (x[i] @ p[k])) for k in range(len(p)) if proxy_labels[k, 0] == labels[i, 0])
            others = [k for k in range(len(p)) if proxy_labels[k, level] != labels[i, level]]
            if others:
                rest = sum(torch.exp(scale * (x[i] @ p[k])) for k in others)
                total = total + torch.log1p(rest * own * math.exp(scale * margin)) / len(x)
    return total


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_csl_by_loops(depth):
    torch.manual_seed(depth)
    emb = torch.randn(10, 5, dtype=torch.float64, requires_grad=True)
    labels = EIGHT[torch.randint(0, 8, (10,))][:, :depth]
    loss = csl(depth, scale=6.0)
    margins = {1: (0.25,), 2: (0.25, 0.45), 3: (0.25, 0.35, 0.45)}[depth]
    want = csl_by_loops(emb, labels, loss.proxies, EIGHT[:, :depth], margins, 6.0)
    got = loss(emb, labels)
    torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(grad(got, emb), grad(want, emb), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(grad(got, loss.proxies), grad(want, loss.proxies), rtol=1e-8, atol=1e-10)
    mean = csl(depth, scale=6.0, reduce_levels="mean")
    mean.load_state_dict(loss.state_dict())
    torch.testing.assert_close(mean(emb, labels), got / depth)


def test_seven_levels_have_the_published_margins():
    tree = torch.stack([torch.arange(64) // 2**level for level in range(7)], 1)
    loss = LOSSES["csl"].build(num_classes=64, dim=5, class_labels=tree)
    assert loss.margins == pytest.approx((0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75))
    assert torch.isfinite(loss(torch.randn(12, 5), torch.arange(12)))


def test_what_does_not_fit_csl_is_said():
    descriptor = LOSSES["csl"]
    with pytest.raises(UserError, match="label tree"):
        descriptor.build(num_classes=8, dim=5)
    with pytest.raises(UserError, match="each of 9 classes; got 8"):
        descriptor.build(num_classes=9, dim=5, class_labels=EIGHT)
    with pytest.raises(UserError, match="one margin for each of 3 levels"):
        csl(margins_fine_to_coarse=[0.1, 0.2])
    with pytest.raises(UserError, match="no proxy for class 8"):
        csl()(torch.randn(2, 5), torch.tensor([0, 8]))
