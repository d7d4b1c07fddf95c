"""One arm of a comparison: networks that train together, and their optimizer with clipped gradients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from trainers.devices.precision import LossScale
from trainers.distributed.gather import add_gradients
from trainers.encoders import Encoder
from trainers.errors import UserError
from trainers.optimization import OPTIMISERS
from trainers.training.evaluation import Late, depth_for
from trainers.training.memory import computed_again
from trainers.training.stage import Stage


class Clipping:
    """Shortens gradients that are longer than a limit, and counts them.

    Attributes:
        steps: steps taken under the limit; clipped: those whose gradient was shortened. Both stay 0 without a limit.

    Args:
        limit: the longest gradient, as the L2 norm over all weights of one model and its loss; None: no limit.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.steps = 0
        self.clipped = 0

    def shorten(self, weights: Sequence[nn.Parameter], norm: Tensor) -> None:
        """Bring gradients of L2 norm ``norm`` (scalar, on their device) down to the limit, in place; reads nothing."""
        if self.limit is not None:
            nn.utils.clip_grads_with_norm_(weights, self.limit, norm)

    def count(self, norm: float) -> None:
        """Count a step whose gradient was ``norm`` long before it was shortened."""
        if self.limit is not None:
            self.steps += 1
            self.clipped += norm > self.limit

    def scalars(self) -> dict[str, float]:
        """Return ``clipped_share``, 0..1 of all steps so far; nothing without a limit or before the first step."""
        return {"clipped_share": self.clipped / self.steps} if self.steps else {}

    def sentence(self, title: str) -> str:
        """Write the number of clipped steps, for the log; empty without a limit."""
        if not self.steps:
            return ""
        return (
            f"clipping: the gradient of {title} was longer than {self.limit:g} in {self.clipped} of {self.steps} steps"
        )

    def tensors(self) -> dict[str, Tensor]:
        """Return the counts, for a checkpoint."""
        return {"clipping": torch.tensor([self.steps, self.clipped])} if self.steps else {}

    def load(self, counts: Tensor | None) -> None:
        """Restore what :meth:`tensors` returned; None: nothing was counted."""
        self.steps, self.clipped = (0, 0) if counts is None else counts.tolist()


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
        depth: how many steps late a bad one is detected, see :class:`trainers.training.evaluation.Late`. Above 0 the
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


class Arm(ABC):
    """Steps its networks; the arms of a run start from the same weights and see the same data.

    A subclass may hold networks that are not trained: a moving average of another one, say, is a network whose name no
    stage lists, updated in :meth:`after_step`.

    Args:
        index, title: of the arm.
        networks: by the names that a checkpoint gives them.
        device: where they are.
        state: further tensors of a checkpoint, by name, that training changes in place: a queue, say, and its position.
    """

    what: ClassVar[str] = "images"
    """The contents of a batch, for the message of a bad step."""
    waits = False
    """Nothing of it is trained in this stage: the loop does not call :meth:`step`, and its curves have no points."""
    layout: torch.memory_format | None = None
    """Of images and of the weights of convolutions in memory; None: as they are made."""
    checkpointed: Sequence[Encoder] = ()
    """Encoders that keep fewer activations."""
    processor_seconds = 0.0
    """Processor time of its steps so far, all threads; the loop adds it up where :meth:`step` does not."""

    def __init__(
        self,
        index: int,
        title: str,
        networks: Mapping[str, nn.Module],
        device: torch.device,
        state: Mapping[str, Tensor] = MappingProxyType({}),
    ) -> None:
        self.index = index
        self.title = title
        self.networks = dict(networks)
        self.state = dict(state)
        self._device = device

    def lay_out(self, layout: torch.memory_format) -> None:
        """Have images and weights in memory as ``layout`` says, before the first :meth:`begin`."""
        self.layout = layout
        for net in self.networks.values():
            net.to(memory_format=layout)

    def laid_out(self, images: Tensor) -> Tensor:
        """Return images ``[N, C, H, W]`` as :attr:`layout` says, and features ``[N, F]`` as they are."""
        if self.layout is None or images.ndim != 4:
            return images
        return images.contiguous(memory_format=self.layout)

    def begin(self, stage: Stage) -> None:
        """Train what ``stage`` trains from now on, with a new optimizer."""
        trained = {name: net for name, net in self.networks.items() if stage.networks is None or name in stage.networks}
        groups = self._slowed(self.groups(trained, stage), stage.backbone_rate)
        self.optimizer = ArmOptimizer(
            [group for group in groups if group["params"]],
            optimiser=stage.optimiser,
            momentum=stage.momentum,
            clip_norm=stage.clip_norm,
            depth=depth_for(self._device),
            scale=LossScale(stage.precision, self._device),
        )

    @abstractmethod
    def groups(self, networks: Mapping[str, nn.Module], stage: Stage) -> list[dict[str, Any]]:
        """Return parameter groups of the optimizer, each with ``params``, ``lr`` and ``weight_decay``."""

    def _slowed(self, groups: list[dict[str, Any]], rate: float) -> list[dict[str, Any]]:
        """Put weights of an encoder that have a rate of their own in groups of their own, one for each rate."""
        encoders = [part for net in self.networks.values() for part in net.modules() if isinstance(part, Encoder)]
        shares: dict[nn.Parameter, float] = {}
        for encoder in encoders:
            shares_of = encoder.rates()
            inside = (weight for layer in encoder.in_front() for weight in layer.parameters())
            shares |= {weight: rate * shares_of.get(weight, 1.0) for weight in inside}
        split = []
        for group in groups:
            parts: dict[float, list[nn.Parameter]] = {1.0: []}  # first: a checkpoint counts weights in this order
            for weight in group["params"]:
                parts.setdefault(shares.get(weight, 1.0), []).append(weight)
            split += [{**group, "params": weights, "lr": group["lr"] * share} for share, weights in parts.items()]
        return split

    @abstractmethod
    def step(self, batch: Any, factor: float) -> dict[str, Tensor | float]:
        """Take one optimizer step.

        Args:
            batch: what the loop made for this step.
            factor: the schedule's factor on the learning rates, 0..1.

        Returns:
            ``loss`` and whatever else is shown, as scalars on the device; ``examples``, how many the batch held.

        Raises:
            NonFiniteLossError: this step, or on a GPU the one before, was bad; it changed no weight.
        """

    def after_step(self) -> None:  # noqa: B027 - most do nothing
        """Do what follows every step, before the next arm's."""

    def descend(self, loss: Tensor, factor: float, step: int, rows: Tensor | np.ndarray) -> None:
        """Take one optimizer step on ``loss``; ``step`` and the batch's ``rows`` are for the message of a bad step."""
        with computed_again(self.checkpointed):
            self.optimizer.step(loss, factor, lambda value, norm: self._blame(step, rows, value, norm))

    def settle(self) -> None:
        """Wait for the steps taken so far.

        Raises:
            NonFiniteLossError: one of them was bad.
        """
        self.optimizer.settle()

    @property
    def clipping(self) -> Clipping:
        """How often this arm's gradient was clipped."""
        return self.optimizer.clipping

    def sentences(self) -> list[str]:
        """Say what became of its steps, for the log."""
        counted = (self.optimizer.clipping, self.optimizer.scale)
        return [sentence for sentence in (count.sentence(self.title) for count in counted) if sentence]

    def tensors(self) -> dict[str, Tensor]:
        """Return the state of the networks and of the optimizer, and :attr:`state`, by name, for a checkpoint."""
        prefix = f"arm{self.index}"
        states = {
            f"{prefix}/{network}/{name}": value
            for network, net in self.networks.items()
            for name, value in net.state_dict().items()
        }
        states |= {f"{prefix}/state/{name}": value for name, value in self.state.items()}
        return states | self.optimizer.tensors(f"{prefix}/optimiser/")

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`tensors` returned."""
        saved = under(tensors, f"arm{self.index}/")
        for network, net in self.networks.items():
            net.load_state_dict(under(saved, f"{network}/"))
        for name, value in self.state.items():
            value.copy_(saved[f"state/{name}"])
        self.optimizer.load(under(saved, "optimiser/"))

    def _blame(self, step: int, rows: Tensor | np.ndarray, value: float, norm: float) -> str:
        first = ", ".join(str(row) for row in rows[:6].tolist())
        return (
            f"{self.title} stopped being a number (loss {value}, gradient {norm}) in step {step + 1}. The batch held "
            f"{len(rows)} {self.what}, the first of them training rows {first}. The weights are as they were before "
            "this step. Try a smaller learning rate, or look at these images."
        )
