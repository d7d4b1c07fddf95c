"""Cross-entropy towards the first logit, against torch's own in float64."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from trainers.kinds.contrastive.picking import first_cross_entropy


@pytest.mark.parametrize("scale", [0.01, 1.0, 200.0, 1e4])
@pytest.mark.parametrize("shape", [(1, 2), (5, 2), (7, 301)])
def test_value_gradient_and_accuracy_are_torchs(shape: tuple[int, int], scale: float) -> None:
    torch.manual_seed(1)
    plain = (scale * torch.randn(shape, dtype=torch.float64)).requires_grad_()
    plain.data[0] = plain.data[0, 0]  # a tie
    same = plain.detach().clone().requires_grad_()
    expected = functional.cross_entropy(plain, torch.zeros(len(plain), dtype=torch.int64))
    (3 * expected).backward()
    loss, accuracy = first_cross_entropy(1 * same)
    (3 * loss).backward()
    assert torch.allclose(loss, expected, rtol=1e-12, atol=1e-12)
    assert torch.allclose(same.grad, plain.grad, rtol=1e-9, atol=1e-14)
    wins = [bool(row[0] > row[1:].max()) for row in plain]
    assert accuracy.item() == pytest.approx(sum(wins) / len(wins)) and not wins[0]
    assert not accuracy.requires_grad


def test_it_is_differentiated_once() -> None:
    logits = torch.randn(3, 4, requires_grad=True)
    loss, _ = first_cross_entropy(1 * logits)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="differentiated once"):
        loss.backward()


def test_infinite_logits_give_a_loss_that_is_seen_to_be_wrong() -> None:
    loss, _ = first_cross_entropy(torch.tensor([[float("nan"), 1.0], [0.0, 1.0]]))
    assert loss.isnan()
