"""Nothing waits for a GPU: losses, metrics, an embedding and a step run on CUDA tensors that hold no numbers.

Under ``FakeTensorMode`` a CUDA tensor has a shape and no values, on any machine. Whatever needs a value on the host (a
number read, a shape that depends on values) raises there; labels, which the host knows, are real and on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

from trainers.losses import LOSSES
from trainers.losses._memory import give_memory

DIM, CLASSES = 16, 6
TREE = torch.tensor([[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 1], [4, 2, 1], [5, 2, 1]])
SIZES = {"equal": [4] * 6, "any": [1, 1, 3, 5, 2, 4]}


@pytest.fixture
def fake() -> Iterator[FakeTensorMode]:
    """The mode, entered; real CPU tensors are let in beside fake ones."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        yield mode


def labels_of(sizes: list[int]) -> Tensor:
    """``[B, 3]``, shuffled."""
    finest = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return TREE[finest[torch.randperm(len(finest), generator=torch.Generator().manual_seed(1))]]


def on_gpu(mode: FakeTensorMode, module: nn.Module) -> nn.Module:
    """The module with parameters and buffers as fake CUDA tensors."""
    return module.to("cuda")


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss(name):
    loss, labels = LOSSES[name], labels_of(SIZES["equal"])
    real = loss.build(num_classes=CLASSES, dim=DIM, class_labels=TREE)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        module = on_gpu(mode, real)
        shape = (len(labels), loss.views, DIM) if loss.views > 1 else (len(labels), DIM)
        emb = torch.empty(shape, device="cuda", requires_grad=True)
        found = module(emb, labels)
        assert found.device.type == "cuda" and found.shape == ()
        found.backward()
        assert emb.grad.shape == shape
