"""Numbers that are read a step late: what was wrong comes out, nothing is harmed, and nothing is read too soon."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from trainers.training.arm_optimizer import ArmOptimizer, NonFiniteLossError
from trainers.training.deferred import HostCopy, Late, depth_for


def test_each_reading_comes_in_order_and_so_many_later() -> None:
    for depth in (0, 1, 2):
        late, seen = Late(depth), []
        for number in range(4):
            late.read(torch.tensor([float(number)]), seen.extend)
            assert seen == [float(n) for n in range(max(0, number + 1 - depth))]
        late.settle()
        assert seen == [0.0, 1.0, 2.0, 3.0]


def test_what_was_wrong_stays_wrong() -> None:
    late, seen = Late(1), []

    def refuse(_values: list[float]) -> None:
        raise ValueError("bad")

    late.read(torch.zeros(1), refuse)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            late.read(torch.zeros(1), seen.extend)
    with pytest.raises(ValueError, match="bad"):
        late.settle()
    assert not seen


def test_the_cpu_is_read_at_once_and_its_tensors_are_not_copied() -> None:
    values = torch.rand(3)
    assert HostCopy(values).get().data_ptr() == values.data_ptr()
    assert depth_for(torch.device("cpu")) == 0 and depth_for(torch.device("cuda", 1)) == 1


class World:
    """A weight that descends on a loss whose root has no slope at zero: there the gradient is infinite."""

    def __init__(self, depth: int, optimiser: str = "adamw", clip_norm: float | None = None) -> None:
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))
        group = {"params": [self.weight], "lr": 0.1, "weight_decay": 0.01}
        self.stepper = ArmOptimizer([group], optimiser=optimiser, clip_norm=clip_norm, depth=depth)
        self.taken = 0

    def step(self, kind: str = "good") -> None:
        self.taken += 1
        number = self.taken
        loss = self.weight.square().sum()
        if kind == "loss":
            loss = loss * math.nan
        if kind == "gradient":
            loss = loss + (self.weight - self.weight.detach()).sum().sqrt()
        self.stepper.step(loss, 1.0, lambda value, norm: f"step {number}: loss {value}, gradient {norm}")

    def state(self) -> dict[str, Tensor]:
        found = {"weight": self.weight.detach(), **self.stepper.tensors("")}
        return {name: value.clone() for name, value in found.items()}


@pytest.mark.parametrize("optimiser", ["adamw", "adam"])
@pytest.mark.parametrize("clip_norm", [None, 1.0])
@pytest.mark.parametrize(("kind", "words"), [("loss", "loss nan, gradient nan"), ("gradient", "loss 3.* gradient inf")])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_bad_step_changes_nothing_and_is_named(
    depth: int, kind: str, words: str, clip_norm: float | None, optimiser: str
) -> None:
    world = World(depth, optimiser, clip_norm)
    for _ in range(3):
        world.step()
    world.stepper.settle()
    before = world.state()
    if depth:
        world.step(kind)  # the device alone knows
        kind = "good"
        after = world.state()
        assert all(torch.equal(after[name], before[name]) for name in before)
    with pytest.raises(NonFiniteLossError, match=rf"step 4: {words}"):
        world.step(kind)
    with pytest.raises(NonFiniteLossError, match="step 4"):
        world.stepper.settle()
    assert world.stepper.clipping.steps == (3 if clip_norm else 0)


def test_the_step_after_a_bad_one_is_not_taken_either() -> None:
    world = World(1)
    world.step("loss")
    with pytest.raises(NonFiniteLossError, match="step 1"):
        world.step()
    assert world.weight.tolist() == [1.0, 2.0]
