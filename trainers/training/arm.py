"""One arm of a comparison: networks that train together, and their optimizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from trainers.devices.precision import LossScale
from trainers.encoders import Encoder
from trainers.training.arm_optimizer import ArmOptimizer, under
from trainers.training.clipping import Clipping
from trainers.training.deferred import depth_for
from trainers.training.memory import computed_again
from trainers.training.stage import Stage


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
