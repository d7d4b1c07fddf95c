"""CSL against its formula written as loops."""

from __future__ import annotations

import pytest
import torch

from tests.losses.slow_contrastive import csl, grad
from tests.oracle_cases import assert_loss, cases
from trainers.errors import UserError
from trainers.losses import LOSSES

TREE = torch.stack([torch.arange(8), torch.arange(8) // 2, torch.arange(8) // 4], 1)


def build(depth: int = 3, **parameters):
    return LOSSES["csl"].build(num_classes=8, dim=5, class_labels=TREE[:, :depth], **parameters).double()


@pytest.mark.parametrize("stem", cases("csl"))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_reference_cases(stem, dtype):
    assert_loss(stem, dtype)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_value_and_gradients(depth):
    torch.manual_seed(depth)
    emb = torch.randn(10, 5, dtype=torch.float64, requires_grad=True)
    labels = TREE[torch.randint(0, 8, (10,))][:, :depth]
    loss = build(depth, scale=6.0)
    margins = {1: (0.25,), 2: (0.25, 0.45), 3: (0.25, 0.35, 0.45)}[depth]
    want = csl(emb, labels, loss.proxies, TREE[:, :depth], margins, 6.0)
    got = loss(emb, labels)
    torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(grad(got, emb), grad(want, emb), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(grad(got, loss.proxies), grad(want, loss.proxies), rtol=1e-8, atol=1e-10)
    mean = build(depth, scale=6.0, reduce_levels="mean")
    mean.load_state_dict(loss.state_dict())
    torch.testing.assert_close(mean(emb, labels), got / depth)


def test_the_finest_label_is_enough_and_proxies_may_come_in_any_order():
    torch.manual_seed(0)
    emb, finest = torch.randn(6, 5, dtype=torch.float64), torch.tensor([7, 0, 3, 3, 1, 2])
    loss, order = build(), torch.randperm(8)
    want = loss(emb, TREE[finest])
    torch.testing.assert_close(loss(emb, finest), want)
    other = LOSSES["csl"].build(num_classes=8, dim=5, class_labels=TREE[order]).double()
    with torch.no_grad():
        other.proxies.copy_(loss.proxies[order])
    torch.testing.assert_close(other(emb, finest), want)


def test_a_level_without_negatives_adds_nothing():
    """One root above all classes."""
    tree = torch.stack([torch.arange(4), torch.zeros(4, dtype=torch.long)], 1)
    loss = LOSSES["csl"].build(num_classes=4, dim=5, class_labels=tree)
    emb = torch.randn(6, 5, requires_grad=True)
    terms = loss.terms(emb, torch.tensor([0, 1, 2, 3, 0, 1]))
    assert terms["level_1"] == 0
    sum(terms.values()).backward()
    assert torch.isfinite(emb.grad).all()
    assert torch.isfinite(loss.proxies.grad).all()


def test_seven_levels_have_the_published_margins():
    tree = torch.stack([torch.arange(64) // 2**level for level in range(7)], 1)
    loss = LOSSES["csl"].build(num_classes=64, dim=5, class_labels=tree)
    assert loss.margins == pytest.approx((0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75))
    assert torch.isfinite(loss(torch.randn(12, 5), torch.arange(12)))


def test_errors():
    descriptor = LOSSES["csl"]
    with pytest.raises(UserError, match="label tree"):
        descriptor.build(num_classes=8, dim=5)
    with pytest.raises(UserError, match="each of 9 classes; got 8"):
        descriptor.build(num_classes=9, dim=5, class_labels=TREE)
    with pytest.raises(UserError, match="one margin for each of 3 levels"):
        build(margins_fine_to_coarse=[0.1, 0.2])
    with pytest.raises(UserError, match="no proxy for class 8"):
        build()(torch.randn(2, 5), torch.tensor([0, 8]))
