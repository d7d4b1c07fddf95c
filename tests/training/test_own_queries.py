"""Parts of a loss that processes compute add up to the whole, of the losses of which it is said and of no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from trainers.losses import LOSSES
from trainers.parameters import specs
from trainers.training.own_queries import part

LABELS = {
    "equal classes": torch.arange(12).repeat_interleave(4),
    "unequal classes": torch.tensor([c for c, images in enumerate((9, 5, 4, 2, 7, 3, 1, 5)) for _ in range(images)]),
}
TOLERANCE = 1e-9


def variants() -> Iterator[Any]:
    """Every loss with a gallery as it is, and with every other choice of its parameters."""
    for name, entry in LOSSES.items():
        if not entry.gallery:
            continue
        yield pytest.param(name, {}, id=name)
        for spec in specs(entry.parameters):
            for value in (False, True) if spec.type is bool else spec.rule.choices or ():
                if value != spec.default:
                    yield pytest.param(name, {spec.name: value}, id=f"{name}:{spec.name}={value}")


def gradients(name: str, parameters: dict[str, Any], rows: Tensor, labels: Tensor, processes: int) -> list[Tensor]:
    """The loss and its gradients, computed whole, or in the parts of so many processes."""
    entry = LOSSES[name]
    torch.manual_seed(0)
    tree = torch.stack([torch.arange(int(labels.max()) + 1) // 2**level for level in range(3)], 1)
    net = entry.build(num_classes=len(tree), dim=rows.shape[-1], class_labels=tree, **parameters).double()
    rows = rows.clone().requires_grad_()
    levels = tree[labels]
    if processes == 1:
        parts = [net.terms(rows, levels)]
    else:
        parts = [part(net, net.terms, rows, levels, first, processes) for first in range(processes)]
    loss = torch.stack([term for each in parts for term in each.values()]).sum()
    loss.backward()
    return [loss.detach(), *(each.grad for each in (rows, *net.parameters()) if each.grad is not None)]


def test_a_loss_without_a_gallery_is_not_computed_in_parts() -> None:
    assert all(entry.gallery for entry in LOSSES.values() if entry.own_queries)


@pytest.mark.parametrize(("name", "parameters"), list(variants()))
def test_parts_add_up_where_it_is_said_and_nowhere_else(name: str, parameters: dict[str, Any]) -> None:
    entry = LOSSES[name]
    worst = 0.0
    for labels in LABELS.values():
        shape = (len(labels), entry.views, 8) if entry.views > 1 else (len(labels), 8)
        rows = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        whole = gradients(name, parameters, rows, labels, 1)
        for processes in (2, 4):
            shared = gradients(name, parameters, rows, labels, processes)
            worst = max(worst, *((a - b).abs().max().item() for a, b in zip(whole, shared, strict=True)))
    assert entry.adds_up(entry.checked(parameters)) == (worst < TOLERANCE), f"apart by {worst:.1e}"
