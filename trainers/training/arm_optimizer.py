"""The optimizer of one arm; a step with a loss or gradient that is not finite changes no weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trainers.devices.precision import LossScale
from trainers.distributed.whole import add_gradients
from trainers.errors import UserError
from trainers.optimization import OPTIMISERS
from trainers.training.clipping import Clipping
from trainers.training.deferred import Late


class NonFiniteLossError(UserError):
    """The loss or its gradient is not a finite number."""


class ArmOptimizer:
    """An optimizer with a scheduled factor and, if asked for, clipped gradients.

    Args:
        groups: parameter groups, each with ``params``, ``lr`` and ``weight_decay``; and ``equal``, those weights whose
            whole gradient each of several processes has, not that of its own images alone.
        optimiser: one of :data:`trainers.optimization.OPTIMISERS`.
        momentum: of those that have one, 0..1.
        clip_norm: largest L2 norm of the gradient; None: no clipping.
        depth: how many steps late a bad one is detected, see :class:`trainers.training.deferred.Late`. Above 0 the
            device itself leaves the weights and the optimizer's state as they are in a bad step; an optimizer without
            a fused form cannot, and every step of it is read at once.
        scale: of the loss, where encoders compute in float16.

    Attributes:
        optimiser: of torch; its groups have the learning rates of the last step.
        rates: learning rate of each of its groups, before the schedule's factor.
        late: reads the loss and the gradient norm of each step, on a GPU a step later.
    """

    def __init__(
        self,
        groups: Sequence[Mapping[str, Any]],
        *,
        optimiser: str = "adamw",
        momentum: float = 0.9,
        clip_norm: float | None = None,
        depth: int = 0,
        scale: LossScale | None = None,
    ) -> None:
        self.clipping = Clipping(clip_norm)
        self.scale = scale or LossScale()
        entry = OPTIMISERS[optimiser]
        self.late = Late(depth if entry.fused else 0)
        # the fused form alone takes `found_inf`, a number on the device that tells it to change nothing
        torchs = [{name: value for name, value in group.items() if name != "equal"} for group in groups]
        self.optimiser = entry.make(torchs, momentum, self.late.depth > 0)
        self.rates = [group["lr"] for group in self.optimiser.param_groups]
        self._trained = [weight for group in self.optimiser.param_groups for weight in group["params"]]
        equal = {weight for group in groups for weight in group.get("equal", ())}
        self._equal = [weight for weight in self._trained if weight in equal]
        self._summed = [weight for weight in self._trained if weight not in equal]

    def step(self, loss: Tensor, factor: float, blame: Callable[[float, float], str]) -> None:
        """Take one step.

        Args:
            loss: scalar with a graph.
            factor: the schedule's factor on the learning rates, 0..1.
            blame: makes the error's message from loss and gradient norm.

        Raises:
            NonFiniteLossError: this step (or, with a depth, an earlier one) was bad; it changed no weight.
        """
        self.optimiser.zero_grad(set_to_none=True)
        if self.late.depth or math.isfinite(loss.item()):
            self.scale.enlarged(loss).backward()
            add_gradients(self._summed, self._equal)
            self.scale.reduce(self.optimiser)
            norm = nn.utils.get_total_norm([weight.grad for weight in self._trained if weight.grad is not None])
        else:
            norm = torch.full_like(loss, math.nan)
        values = torch.stack([loss.detach(), norm.to(loss.dtype)])
        self.late.read(values, lambda read: self._judge(read[0], read[1], blame))
        self.clipping.shorten(self._trained, norm)
        if self.late.depth:
            vars(self.optimiser)["found_inf"] = (~torch.isfinite(values)).any().float()
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
        self.scale.step(self.optimiser)

    def settle(self) -> None:
        """Wait for the steps taken so far.

        Raises:
            NonFiniteLossError: one of them was bad.
        """
        self.late.settle()

    def _judge(self, loss: float, norm: float, blame: Callable[[float, float], str]) -> None:
        norm = norm if math.isfinite(loss) else math.nan
        if self.scale.forgives(loss, norm):
            return
        if not math.isfinite(norm):
            raise NonFiniteLossError(blame(loss, norm))
        self.clipping.count(norm)

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """Return the optimiser's state by name, for a checkpoint; the steps must be settled."""
        states = self.optimiser.state_dict()["state"]
        tensors = {
            f"{prefix}{number}/{name}": value
            for number, state in states.items()
            for name, value in state.items()
            if value is not None
        }
        counted = self.clipping.tensors() | self.scale.tensors()
        return tensors | {f"{prefix}{name}": value for name, value in counted.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`tensors` returned, with the prefix removed."""
        state: dict[int, dict[str, Tensor]] = {}
        tensors = dict(tensors)
        self.clipping.load(tensors.pop("clipping", None))
        self.scale.load(tensors.pop("scale", None))
        for name, value in tensors.items():
            number, _, key = name.partition("/")
            known = key != "step" and 0 <= int(number) < len(self._trained)
            state.setdefault(int(number), {})[key] = _laid_out(value, self._trained[int(number)]) if known else value
        whole = self.optimiser.state_dict()
        whole["state"] = state
        self.optimiser.load_state_dict(whole)


def _laid_out(value: Tensor, weight: Tensor) -> Tensor:
    """Copy ``value`` to the memory layout of its weight: the fused optimizers ignore strides and need both laid out
    alike.

    A checkpoint holds every tensor in plain order, while the weights of convolutions are channels last.
    """
    return torch.empty_like(weight, dtype=value.dtype).copy_(value) if value.shape == weight.shape else value


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Select the entries whose name begins with ``prefix``, which is removed."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
