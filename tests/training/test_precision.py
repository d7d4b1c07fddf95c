"""Encoders in half precision: what they compute, what overflows, what a checkpoint holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.contracts.test_training import tensors, train_cut_and_resume
from tests.finetuning.world import mend_config
from tests.tiny import opened, tiny_config, tiny_contrastive, to_end
from trainers.devices.precision import HALF, OVERFLOWS_IN_A_ROW, LossScale, autocast, computing_in
from trainers.encoders import ENCODERS, Encoder
from trainers.kinds.metric_learning.batches import ImageBatch
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES
from trainers.training.arm import ArmOptimizer, NonFiniteLossError
from trainers.training.stage import Stage

CPU = torch.device("cpu")
SIDE, DIM, IMAGES = 24, 16, 12
BF16, FP16 = 2.0**-8, 2.0**-11  # half the distance between neighbours, as a share of them


def encoder(name: str = "conv4", **parameters: object) -> Encoder:
    torch.manual_seed(0)
    made = ENCODERS[name].build(channels=3, side=SIDE, dim=DIM, parameters={"width": 8, **parameters})
    return made.to(memory_format=torch.channels_last).train()


def pixels(count: int = IMAGES, side: int = SIDE) -> Tensor:
    """Images of a colour each, and noise."""
    draws = torch.Generator().manual_seed(1)
    images = torch.rand(count, 3, 1, 1, generator=draws) + torch.rand(count, 3, side, side, generator=draws)
    return (images / 2).contiguous(memory_format=torch.channels_last)


def stepped(precision: str) -> tuple[Tensor, list[Tensor]]:
    """The embeddings of a batch and the gradient after the step of an arm."""
    loss = LOSSES["contrastive"]
    net, embeddings = encoder(), []
    net.register_forward_hook(lambda _net, _inputs, output: embeddings.append(output.detach()))
    arm = LossArm(0, loss, loss.build(num_classes=4, dim=DIM), net, CPU)
    arm.begin(Stage.of(MetricLearningConfig(precision=precision)))
    labels = torch.arange(IMAGES)[:, None] % 4
    with computing_in(precision):
        found = arm.step(ImageBatch(views=(pixels(),), labels=labels, rows=torch.arange(IMAGES), step=0), 1.0)
    assert isinstance(found["loss"], Tensor) and found["loss"].dtype == torch.float32
    return embeddings[0], [weight.grad for weight in net.parameters() if weight.grad is not None]


def apart(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """How long the difference is, as a share of theirs."""
    one, other = (torch.cat([value.float().flatten() for value in values]) for values in (ours, theirs))
    return ((one - other).norm() / other.norm()).item()


@pytest.mark.parametrize(("precision", "rounding"), [("bf16", BF16), ("fp16", FP16)])
def test_half_precision_differs_by_its_rounding(precision: str, rounding: float) -> None:
    """Layers round inputs, weights and results, forward and backward; batch statistics of few images enlarge it."""
    embeddings, gradient = stepped("float32")
    half, its_gradient = stepped(precision)
    assert embeddings.dtype == torch.float32 and half.dtype in (torch.bfloat16, torch.float16)
    assert rounding < apart([half], [embeddings]) < 10 * rounding
    assert rounding < apart(its_gradient, gradient) < 64 * rounding


def watched(nets: Iterable[nn.Module]) -> set[torch.dtype]:
    """A set that gets the types of what their convolutions put out."""
    kinds: set[torch.dtype] = set()
    for layer in (layer for net in nets for layer in net.modules() if isinstance(layer, nn.Conv2d)):
        layer.register_forward_hook(lambda _layer, _inputs, output: kinds.add(output.dtype))
    return kinds


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_encoders_of_every_kind_compute_in_it_and_their_losses_do_not(
    tmp_path: Path, images: Path, scenes: Path, precision: str
) -> None:
    configs = (tiny_config(images, "supcon"), tiny_contrastive(images), mend_config(scenes))
    for config in (replace(config, precision=precision) for config in configs):
        loop = opened(tmp_path, config)
        (arm,) = loop.arms
        kinds = watched(arm.networks.values())
        loop.take_step()
        assert kinds == {HALF[precision]}, config.kind
        kinds.clear()
        loop.snapshot()  # what the maps show is of the same numbers
        assert kinds <= {HALF[precision]}, config.kind
        values = [scalar.value for scalar in to_end(loop).folder.scalars() if scalar.key == "loss"]
        assert values and all(map(math.isfinite, values))
        weights = [weight for net in arm.networks.values() for weight in net.parameters()]
        assert {weight.dtype for weight in weights} == {torch.float32}


def overflowing(weight: nn.Parameter) -> Tensor:
    """A loss whose gradient leaves float16 at scales above 512."""
    with autocast(CPU):
        value = torch.nn.functional.linear(torch.ones(1, len(weight)), weight[None])
    return 100 * value.float().sum()


GROUP = {"lr": 0.01, "weight_decay": 0.0}


def scaled(weight: nn.Parameter, **settings: Any) -> ArmOptimizer:
    return ArmOptimizer([GROUP | {"params": [weight]}], scale=LossScale("fp16", CPU), **settings)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("optimiser", ["sgd", "adamw", "lars"])
def test_a_step_that_overflows_changes_no_weight_and_halves_the_scale(optimiser: str, depth: int) -> None:
    weight = nn.Parameter(torch.linspace(-1, 1, 5))
    start = weight.detach().clone()
    stepper = scaled(weight, optimiser=optimiser, depth=depth)
    moved = []
    with computing_in("fp16"):
        for _ in range(9):
            stepper.step(overflowing(weight), 1.0, "{} {}".format)
            moved.append(not torch.equal(weight, start))
    stepper.settle()
    assert moved == [False] * 7 + [True] * 2  # 65,536 halved seven times is 512
    assert stepper.scale.overflows == 7 and "7 steps of X changed no weight" in stepper.scale.sentence("X")
    plain = nn.Parameter(start.clone())
    other = ArmOptimizer([GROUP | {"params": [plain]}], optimiser=optimiser)
    for _ in range(2):
        other.step(100 * plain.sum(), 1.0, "{} {}".format)
    torch.testing.assert_close(weight, plain, rtol=8 * FP16, atol=FP16)


@pytest.mark.parametrize("depth", [0, 1])
def test_a_gradient_that_no_scale_makes_finite_ends_the_run(depth: int) -> None:
    weight = nn.Parameter(torch.zeros(3))
    stepper = scaled(weight, depth=depth)
    with pytest.raises(NonFiniteLossError, match=r"0\.0 inf"):
        for _ in range(OVERFLOWS_IN_A_ROW + 2):
            stepper.step(weight.sqrt().sum(), 1.0, "{} {}".format)
    assert stepper.scale.overflows == OVERFLOWS_IN_A_ROW and not weight.any()
    with pytest.raises(NonFiniteLossError):  # a loss that is no number does so at once
        scaled(weight).step((weight / 0).sum(), 1.0, "{} {}".format)


@pytest.mark.parametrize("chunk", [None, 5])
def test_half_precision_resumes_to_the_same_bits(tmp_path: Path, images: Path, chunk: int | None) -> None:
    whole = train_cut_and_resume(tmp_path, images, "smooth_ap", "proxy_anchor", precision="fp16", chunk=chunk)
    scale, unchanged, overflows, _ = tensors(whole)["arm0/optimiser/scale"].tolist()
    assert overflows and scale == 65_536 / 2**overflows and unchanged, "the state is not that of a new run"
    assert "overflowed" in (whole.folder.path / "log.txt").read_text()
