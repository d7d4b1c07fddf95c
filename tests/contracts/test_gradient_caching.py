"""Chunks of a batch train as the whole batch does: every loss, every method, every image-text model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from unittest import mock

import pytest
import torch
from torch import Tensor, nn

from tests.contracts.test_losses import TREE, build
from tests.equivalence import loop_shape, of_each
from trainers.encoders import ENCODERS, Encoder
from trainers.encoders.norms import replace_norms
from trainers.image_text.models import MODELS
from trainers.kinds.contrastive.arm import MethodArm
from trainers.kinds.contrastive.batches import ViewBatch
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.methods import METHODS, Parts
from trainers.kinds.contrastive.networks import Projected, projector
from trainers.losses import LOSSES
from trainers.losses._memory import give_memory
from trainers.training import memory
from trainers.training.memory import Chunked, encode_in_chunks
from trainers.training.stage import Stage

SIDE, DIM, IMAGES, CHUNK, CLASSES = 16, 16, 18, 5, 4
CPU = torch.device("cpu")
DROPOUT = 0.3


def encoder(norm: str, splits: int = 2, dropout: float = 0.0) -> Encoder:
    torch.manual_seed(0)
    made = ENCODERS["conv4"].build(channels=3, side=SIDE, dim=DIM, parameters={"width": 8})
    if dropout:
        made.head = nn.Sequential(nn.Dropout(dropout), made.head)
    return replace_norms(made, norm, splits).double()


def pixels(count: int = IMAGES, seed: int = 0) -> Tensor:
    return torch.rand(count, 3, SIDE, SIDE, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def together(chunked: Chunked, inputs: Tensor) -> Tensor:
    """The same chunks, all of them kept for the backward pass."""
    count = memory.chunks(len(inputs), chunked.size)
    whole: list[Tensor] = [inputs.new_empty(0)] * len(inputs)
    for number in range(count):
        whole[number::count] = chunked.encode(inputs[number::count]).unbind()
    return torch.stack(whole)


def kept() -> AbstractContextManager[object]:
    return mock.patch.object(Chunked, "__call__", together)


def gradients(nets: Iterable[nn.Module]) -> list[Tensor]:
    return [w.grad.clone() for net in nets for w in net.parameters() if w.grad is not None]


def assert_equal(ours: Iterable[Tensor], theirs: Iterable[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        if one.dtype.is_floating_point:
            largest = other[other.isfinite()].abs().max().item() if other.numel() else 0.0
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12 * max(1.0, largest))
        else:
            assert torch.equal(one, other)


@of_each(LOSSES, loop_shape)
def test_every_loss_has_the_gradient_of_the_whole_batch(name: str) -> None:
    """Two batches, of which a memory keeps the first; images of a class are unequal in number."""
    loss = LOSSES[name]
    results = []
    for size in (None, CHUNK):
        module, net = build(loss).double(), encoder("layer").train()
        module, _ = give_memory(module, loss, size=24 if loss.gallery else 0, after=0, dim=DIM, levels=TREE.shape[1])
        module.double()
        encode_in_chunks(net, size)
        draws = torch.Generator().manual_seed(3)
        for step in range(2):
            torch.manual_seed(step)
            labels = TREE[torch.randint(len(TREE), (IMAGES,), generator=draws)]
            embeddings = net(pixels(IMAGES * loss.views, step))
            if loss.views > 1:
                embeddings = embeddings.reshape(loss.views, IMAGES, -1).transpose(0, 1)
            torch.stack(list(module.terms(embeddings, labels).values())).sum().backward()
        results.append(gradients((net, module)))
    assert any(grad.abs().max() > 1e-6 for grad in results[0])
    assert_equal(results[1], results[0])


def trained(name: str, norm: str, size: int | None, steps: int = 3, **parameters: object) -> MethodArm:
    """A method on float64 images; its encoder has dropout where ``norm`` is ``batch``."""
    descriptor = METHODS[name]
    known = descriptor.parameters.__dataclass_fields__
    small = {"queue": 24, "negatives": 16, "momentum": 0.9}
    values = {key: value for key, value in small.items() if key in known} | parameters
    net = encoder(norm, splits=2 if size else 4, dropout=DROPOUT if norm == "batch" else 0.0)
    torch.manual_seed(1)
    head = projector(net.without_head(), DIM, mlp=descriptor.mlp).double()
    if norm == "batch":
        head = nn.Sequential(nn.BatchNorm1d(net.width).double(), head)
    parts = Parts(net=Projected(net, head), dim=DIM, images=40, classes=CLASSES)
    method = descriptor.module(descriptor.checked(values), parts).double()
    arm = MethodArm(0, "", method, nn.Linear(net.width, CLASSES).double(), 7, CPU)
    encode_in_chunks(method, size)
    arm.begin(Stage.of(ContrastiveConfig(learning_rate=0.1)))
    for step in range(steps):
        rows = torch.arange(step * 12, step * 12 + 12) % 40
        torch.manual_seed(step)
        views = [pixels(12, 10 * step + view) for view in range(method.views)]
        arm.step(ViewBatch(view=views.__getitem__, labels=rows % CLASSES, rows=rows, step=step), 1.0)
    return arm


CASES = [
    *((name, {}) for name in METHODS),
    ("moco_v1", {"shuffle": True, "positives": 2}),
    ("moco_v1", {"sharing": "shared"}),
    ("moco_v1", {"sharing": "partly"}),
    ("end_to_end", {"sharing": "separate", "shuffle": True}),
    ("supcon", {"joint": True}),
]


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=lambda case: str(case))
def test_every_method_trains_as_with_the_whole_batch(name: str, parameters: dict[str, object]) -> None:
    """Three steps: weights, the encoder that follows, the queue, the bank, and what the optimizer keeps."""
    whole, cached = (trained(name, "layer", size, **parameters) for size in (None, 5))
    assert_equal(cached.tensors().values(), whole.tensors().values())


def test_groups_of_chunks_are_groups_of_the_batch() -> None:
    """Two chunks of two groups are ``split`` into four, but for the running statistics, which follow each chunk."""
    whole, cached = (trained("moco_v1", "split", size, steps=1) for size in (None, 6))
    ours, theirs = cached.tensors(), whole.tensors()
    names = [name for name in theirs if "running" not in name and "batches_tracked" not in name]
    assert len(names) < len(theirs)
    assert_equal((ours[name] for name in names), (theirs[name] for name in names))


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=lambda case: str(case))
def test_batch_statistics_and_dropout_are_those_of_chunks_kept(name: str, parameters: dict[str, object]) -> None:
    cached = trained(name, "batch", 5, **parameters)
    with kept():
        slow = trained(name, "batch", 5, **parameters)
    assert_equal(cached.tensors().values(), slow.tensors().values())
    again = trained(name, "batch", 5, **parameters)
    assert all(torch.equal(value, cached.tensors()[key]) for key, value in again.tensors().items())


TEXTS = [f"a {colour} {thing}" for colour in ("red", "blue", "old") for thing in ("dog", "cat", "boat", "bus", "cup")]
IMAGE_TEXT: dict[str, dict[str, object]] = {
    "tiny_clip": {"fresh": True},
    "vsepp": {},
    "two_towers": {"encoder": "conv4:width=8", "dim": 16},
}


@pytest.mark.parametrize("name", IMAGE_TEXT)
def test_both_towers_of_a_model_have_the_gradient_of_chunks_kept(name: str) -> None:
    def stepped(size: int | None) -> list[Tensor]:
        torch.manual_seed(0)
        model = MODELS[name].build(IMAGE_TEXT[name]).double().train()
        encode_in_chunks(model, size)
        images = torch.rand(len(TEXTS), 3, model.side, model.side, dtype=torch.float64)
        tokens = model.tokenise(TEXTS)
        terms = model.terms(model.image_features(images), model.text_features(tokens))
        torch.stack(list(terms.values())).sum().backward()
        return [*gradients([model]), *model.buffers()]

    with kept():
        slow = stepped(4)
    assert_equal(stepped(4), slow)


def test_the_backward_pass_needs_the_activations_of_one_chunk() -> None:
    """Numbers that are kept for the backward pass at the same time, and whether evaluation is left alone."""

    def most(encode: Callable[[Tensor], Tensor]) -> int:
        alive = highest = 0

        def pack(value: Tensor) -> tuple[Tensor, object]:
            nonlocal alive, highest
            size = value.numel()
            alive, highest = alive + size, max(highest, alive + size)
            return value, Counted(size)

        class Counted:
            def __init__(self, size: int) -> None:
                self.size = size

            def __del__(self) -> None:
                nonlocal alive
                alive -= self.size

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed[0]):
            encode(pixels(40)).square().sum().backward()
        return highest

    net = encoder("batch").train()
    whole = most(net)
    cached = copy.deepcopy(net)
    encode_in_chunks(cached, 10)
    assert most(cached) < 0.4 * whole
    images = pixels(7)
    assert torch.equal(cached.eval()(images), net.load_state_dict(cached.state_dict()) and net.eval()(images))
