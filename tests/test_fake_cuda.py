"""Nothing waits for a GPU: losses, metrics, an embedding and a step run on CUDA tensors that hold no numbers.

Under ``FakeTensorMode`` a CUDA tensor has a shape and no values, on any machine. Whatever needs a value on the host (a
number that is read, a shape that values decide) raises there. Labels, which the host knows, are real and on the CPU.
Backward passes need a device; they run on ``meta`` tensors, which have no values either.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from trainers.losses import LOSSES, LossDescriptor, LossModule
from trainers.losses._memory import give_memory

DIM, CLASSES = 16, 6
TREE = torch.tensor([[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 1], [4, 2, 1], [5, 2, 1]])
ANY_SIZES = torch.tensor([4, 2, 3, 5, 2, 3, 3, 1, 5, 0, 2, 3, 2, 4, 5, 4])
LABELS = {"three levels": TREE[ANY_SIZES], "one level": torch.arange(24) // 4}


def built(loss: LossDescriptor, **parameters) -> LossModule:
    return loss.build(num_classes=CLASSES, dim=DIM, class_labels=TREE, **parameters)


def shape(loss: LossDescriptor, labels: Tensor) -> tuple[int, ...]:
    return (len(labels), loss.views, DIM) if loss.views > 1 else (len(labels), DIM)


VARIANTS = {
    **{name: (name, {}) for name in LOSSES},
    "recall_at_k_patel, mixed": ("recall_at_k_patel", {"simix": True}),
    "multi_similarity, all": ("multi_similarity", {"epsilon": None}),
    "triplet, swapped": ("triplet", {"swap": True}),
    "triplet_hard, swapped": ("triplet_hard", {"swap": True}),
    "calibration, all": ("calibration", {"mean_over": "all"}),
    "roadmap, pairs": ("roadmap", {"terms": "table_ii_pairs"}),
    "proxy_nsm, centres": ("proxy_nsm", {"num_centers": 3}),
}


@pytest.mark.parametrize("levels", LABELS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_loss_asks_for_no_number(variant, levels):
    name, parameters = VARIANTS[variant]
    loss, labels = LOSSES[name], LABELS[levels]
    if name == "csl":
        labels = labels if labels.ndim == 2 else TREE[labels]
    module = built(loss, **parameters)
    with FakeTensorMode(allow_non_fake_inputs=True):
        found = module.to("cuda")(torch.empty(shape(loss, labels), device="cuda"), labels)
    assert found.device.type == "cuda" and found.shape == ()


@pytest.mark.parametrize("name", [name for name in LOSSES if LOSSES[name].gallery])
def test_a_loss_with_a_memory_asks_for_none(name):
    """Five batches: the memory fills and turns round."""
    loss, labels = LOSSES[name], LABELS["three levels"]
    module, said = give_memory(built(loss), loss, size=40, after=1, dim=DIM, levels=3)
    assert said
    with FakeTensorMode(allow_non_fake_inputs=True):
        module.to("cuda")
        for _ in range(5):
            found = module(torch.empty(shape(loss, labels), device="cuda"), labels)
    assert found.device.type == "cuda" and module.memory.rows.device.type == "cuda"
    assert module.memory.labels.device.type == "cpu" and int(module.memory.pushed) >= 5 * len(labels)


@pytest.mark.parametrize("variant", VARIANTS)
def test_its_gradient_asks_for_none(variant):
    name, parameters = VARIANTS[variant]
    loss, labels = LOSSES[name], LABELS["three levels"]
    module = built(loss, **parameters).to("meta")
    given = torch.empty(shape(loss, labels), device="meta", requires_grad=True)
    torch.stack(list(module.terms(given, labels).values())).sum().backward()
    assert given.grad.shape == given.shape
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_such_tensors_do_notice_a_question():
    with FakeTensorMode(allow_non_fake_inputs=True):
        given = torch.empty(3, device="cuda")
        with pytest.raises(DataDependentOutputException):
            given.sum().item()
        with pytest.raises(DynamicOutputShapeException):
            given[given > 0]
