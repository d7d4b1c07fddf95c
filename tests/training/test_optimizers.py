"""The optimizers: what each does to a weight, clipping, a bad step that changes nothing, and a resume that is exact."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.contracts.test_training import train_cut_and_resume
from trainers.optimization import OPTIMISERS
from trainers.training.arm import ArmOptimizer, NonFiniteLossError, under

FUSED = [(name, depth) for name, entry in OPTIMISERS.items() for depth in (0, 1) if entry.fused or not depth]
MOMENTA = (0.0, 0.9)


class Net:
    """A convolution in channels-last order, its bias, a gain, and a weight that gets no gradient at first."""

    def __init__(
        self, optimiser: str, depth: int, momentum: float, weight_decay: float = 0.01, clip_norm: float | None = None
    ) -> None:
        draws = torch.Generator().manual_seed(0)
        made = [torch.randn(shape, generator=draws) for shape in ((4, 3, 3, 3), (4,), (4, 4), (2, 2))]
        made[0] = made[0].contiguous(memory_format=torch.channels_last)
        self.weights = [nn.Parameter(one) for one in made]
        self.images = torch.randn(5, 3, 6, 6, generator=draws)
        groups = [{"params": self.weights, "lr": 0.05, "weight_decay": weight_decay}]
        settings = {"optimiser": optimiser, "momentum": momentum, "clip_norm": clip_norm}
        self.stepper = ArmOptimizer(groups, depth=depth, **settings)  # type: ignore[arg-type]
        self.taken = 0

    def step(self, times: int = 1, spoilt: str = "") -> None:
        for _ in range(times):
            kernel, bias, matrix, late = self.weights
            rows = torch.conv2d(self.images, kernel, bias).mean((2, 3)) @ matrix
            loss = (rows - 1).square().mean() + (late.square().sum() if self.taken >= 2 else 0)
            loss = loss * math.nan if spoilt == "loss" else loss
            loss = loss + (bias - bias.detach()).sum().sqrt() if spoilt == "gradient" else loss
            self.taken += 1
            said = f"step {self.taken}: loss {{}}, gradient {{}}"
            self.stepper.step(loss, 0.5, said.format)

    def state(self) -> dict[str, Tensor]:
        return {str(n): w.detach().clone() for n, w in enumerate(self.weights)} | {
            name: value.clone().contiguous() for name, value in self.stepper.tensors("optimiser/").items()
        }

    def load(self, state: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for number, weight in enumerate(self.weights):
                weight.copy_(state[str(number)])
        self.stepper.load(under(state, "optimiser/"))


@pytest.mark.parametrize("momentum", MOMENTA)
@pytest.mark.parametrize("taken", [0, 1, 4])
@pytest.mark.parametrize(("name", "depth"), FUSED)
def test_a_checkpoint_goes_on_to_the_same_bits(name: str, depth: int, taken: int, momentum: float) -> None:
    whole = Net(name, depth, momentum)
    whole.step(taken)
    whole.stepper.settle()
    saved = whole.state()
    whole.step(4)
    again = Net(name, depth, momentum)
    again.load(saved)
    again.taken = taken
    again.step(4)
    want, got = whole.state(), again.state()
    assert want.keys() == got.keys() and [key for key in want if not torch.equal(want[key], got[key])] == []
    assert all(bool(torch.isfinite(value).all()) for value in got.values())


@pytest.mark.parametrize("momentum", MOMENTA)
@pytest.mark.parametrize("spoilt", ["loss", "gradient"])
@pytest.mark.parametrize("taken", [0, 3])
@pytest.mark.parametrize(("name", "depth"), FUSED)
def test_a_bad_step_changes_nothing_be_it_the_first_and_is_named(
    name: str, depth: int, taken: int, spoilt: str, momentum: float
) -> None:
    net = Net(name, depth, momentum, clip_norm=1.0 if momentum else None)
    net.step(taken)
    net.stepper.settle()
    before = net.state()
    words = {"loss": "loss nan, gradient nan", "gradient": r"loss \d.*, gradient inf"}[spoilt]
    with pytest.raises(NonFiniteLossError, match=f"step {taken + 1}: {words}"):
        net.step(spoilt=spoilt)
        net.step()  # a device alone knew: this one is not taken either
    with pytest.raises(NonFiniteLossError, match=f"step {taken + 1}"):
        net.stepper.settle()
    assert net.stepper.clipping.steps == (taken if momentum else 0)
    after = net.state()
    if taken:
        assert before.keys() == after.keys()
    assert [key for key in before if not torch.equal(before[key], after[key])] == []
    new = {key: value for key, value in after.items() if key not in before}
    assert all(not value.any() for value in new.values()), "state that it made is still zero"


@pytest.mark.parametrize("name", [name for name, entry in OPTIMISERS.items() if not entry.fused])
def test_one_without_a_fused_form_is_read_at_once(name: str) -> None:
    net = Net(name, 1, 0.9)
    with pytest.raises(NonFiniteLossError):
        net.step(spoilt="loss")


@pytest.mark.parametrize("name", [name for name, entry in OPTIMISERS.items() if entry.fused])
def test_late_and_at_once_descend_alike(name: str) -> None:
    late, now = Net(name, 1, 0.9), Net(name, 0, 0.9)
    late.step(15)
    now.step(15)
    late.stepper.settle()
    for weight, other in zip(late.weights, now.weights, strict=True):
        torch.testing.assert_close(weight, other, rtol=1e-5, atol=1e-6)


def two_steps(optimiser: str, weight: Tensor, gradients: tuple[Tensor, Tensor], **settings: float) -> Tensor:
    made = nn.Parameter(weight.clone())
    decay = settings.pop("weight_decay", 0.0)
    stepper = ArmOptimizer([{"params": [made], "lr": 0.1, "weight_decay": decay}], optimiser=optimiser, **settings)
    for gradient in gradients:
        stepper.step((made * gradient).sum(), 0.5, lambda *_: "")
    return made.detach()


def test_sgd_by_hand() -> None:
    """Rate 0.1 * 0.5; velocity 1, then 0.9 + 2; with weight decay 0.5 the gradients are 1 + 2 and 2 + 0.925."""
    one, gradients = torch.tensor([4.0]), (torch.tensor([1.0]), torch.tensor([2.0]))
    assert two_steps("sgd", one, gradients).item() == pytest.approx(4 - 0.05 * 1 - 0.05 * 2.9)
    first = 4 - 0.05 * 3
    second = first - 0.05 * (0.9 * 3 + 2 + 0.5 * first)
    assert two_steps("sgd", one, gradients, weight_decay=0.5).item() == pytest.approx(second)
    assert two_steps("sgd", one, gradients, momentum=0.0).item() == pytest.approx(4 - 0.05 * 3)


def test_rmsprop_by_hand() -> None:
    """Square average 0.01, then 0.99 * 0.01 + 0.01 * 4; steps of gradient over its root, with momentum 0.9."""
    found = two_steps("rmsprop", torch.tensor([4.0]), (torch.tensor([1.0]), torch.tensor([2.0])))
    first, second = 1 / 0.1, 2 / math.sqrt(0.0499)
    assert found.item() == pytest.approx(4 - 0.05 * first - 0.05 * (0.9 * first + second), rel=1e-5)


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_lars_by_hand(decay: float) -> None:
    """A matrix of norm 5 and a gradient of norm 10: trust 0.001 * 5 / (10 + 5 decay); a vector has neither."""
    matrix, gradient = torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([[0.0, 6.0], [8.0, 0.0]])
    trust = 0.001 * 5 / (10 + 5 * decay)
    made = nn.Parameter(matrix.clone())
    bias = nn.Parameter(torch.tensor([1.0, 2.0]))
    stepper = ArmOptimizer([{"params": [bias, made], "lr": 0.1, "weight_decay": decay}], optimiser="lars")
    stepper.step((made * gradient).sum() + bias.sum(), 1.0, lambda *_: "")
    torch.testing.assert_close(made.detach(), matrix - 0.1 * trust * (gradient + decay * matrix))
    assert bias.tolist() == pytest.approx([0.9, 1.9])


@pytest.mark.parametrize(
    ("limit", "left", "counts"), [(None, 300.0, (0, 0)), (10.0, 10.0, (1, 1)), (400.0, 300.0, (1, 0))]
)
def test_only_a_gradient_beyond_the_limit_is_shortened(
    limit: float | None, left: float, counts: tuple[int, int]
) -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0]))
    stepper = ArmOptimizer([{"params": [weight], "lr": 0.1, "weight_decay": 0.0}], clip_norm=limit)
    stepper.step((300 * weight).sum(), 1.0, lambda value, norm: f"{value} {norm}")
    assert weight.grad is not None and weight.grad.item() == pytest.approx(left, rel=1e-5)
    assert (stepper.clipping.steps, stepper.clipping.clipped) == counts


def test_where_it_binds_is_counted_said_and_resumed(tmp_path: Path, images: Path) -> None:
    # here CSL's gradients are from 190 to 270 long, SupCon's from 50 to 80
    run = train_cut_and_resume(tmp_path, images, "csl", "supcon_out", snapshot_steps=2, clip_norm=130.0)
    assert [arm.clipping.steps for arm in run.arms] == [5, 5]
    assert [arm.clipping.clipped for arm in run.arms] == [5, 0]
    shares = {(s.arm, s.step): s.value for s in run.folder.scalars() if s.key == "clipped_share"}
    assert shares[0, 5] == 1 and shares[1, 5] == 0
    assert "gradient of CSL was longer than 130 in 5 of 5 steps" in (run.folder.path / "log.txt").read_text()
