"""One optimiser over one model's weights; a step that is not a number is refused before it does harm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from trainers.clipping import Clipping
from trainers.errors import UserError


class NonFiniteLossError(UserError):
    """The loss or its gradient stopped being a number."""


class Stepper:
    """AdamW or Adam with a scheduled factor and, if asked for, clipped gradients.

    Args:
        groups: parameter groups, each with ``params``, ``lr`` and ``weight_decay``.
        optimiser: one of :data:`trainers.types.OPTIMISERS`.
        clip_norm: the longest gradient; None: none is clipped.
    """

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], *, optimiser: str = "adamw", clip_norm: float | None = None
    ) -> None:
        self.clipping = Clipping(clip_norm)
        kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[optimiser]
        self._optimiser = kind([dict(group) for group in groups])
        self._rates = [group["lr"] for group in groups]
        self._trained = [weight for group in groups for weight in group["params"]]

    def step(self, loss: Tensor, factor: float, blame: Callable[[float, float], str]) -> float:
        """Descend once; returns the loss.

        Args:
            loss: scalar with a graph.
            factor: the schedule's factor on the learning rates, 0..1.
            blame: from loss and gradient norm to the sentence of the error.

        Raises:
            NonFiniteLossError: before any weight changes.
        """
        value, norm = loss.item(), math.nan
        self._optimiser.zero_grad(set_to_none=True)
        if math.isfinite(value):
            loss.backward()
            norm = self.clipping.apply(self._trained)
        if not math.isfinite(norm):
            raise NonFiniteLossError(blame(value, norm))
        for group, rate in zip(self._optimiser.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        self._optimiser.step()
        return value

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """The optimiser's state by name, for a checkpoint."""
        states = self._optimiser.state_dict()["state"]
        found = {f"{prefix}{number}/{name}": value for number, state in states.items() for name, value in state.items()}
        return found | {f"{prefix}{name}": value for name, value in self.clipping.tensors().items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`tensors` gave, the prefix taken off."""
        state: dict[int, dict[str, Tensor]] = {}
        tensors = dict(tensors)
        self.clipping.load(tensors.pop("clipping", None))
        for name, value in tensors.items():
            number, _, key = name.partition("/")
            state.setdefault(int(number), {})[key] = value
        whole = self._optimiser.state_dict()
        whole["state"] = state
        self._optimiser.load_state_dict(whole)


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The entries whose name begins with ``prefix``, which is taken off."""
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
