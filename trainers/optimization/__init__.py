"""Optimizers and learning-rate schedules by name: what a configuration offers and a loop uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trainers.registry import Descriptor

if TYPE_CHECKING:
    from torch.optim import Optimizer


Groups = Sequence[Mapping[str, Any]]
"""Parameter groups, each with ``params``, ``lr`` and ``weight_decay``."""


@dataclass(frozen=True, kw_only=True)
class OptimiserDescriptor(Descriptor):
    """One optimizer.

    Attributes:
        make: called with parameter groups, the momentum and whether to make the fused form.
        fused: it has a fused form, whose kernel on the device itself leaves out a step (``found_inf``), so that nothing
            has to be read in between. Of an optimizer without one every step is read before it is taken.
        momentum: it uses the setting of that name.
    """

    make: Callable[[Groups, float, bool], Optimizer]
    fused: bool = False
    momentum: bool = False


def _adamw(groups: Groups, _momentum: float, fused: bool) -> Optimizer:
    import torch

    return torch.optim.AdamW(_copied(groups), fused=fused or None)


def _adam(groups: Groups, _momentum: float, fused: bool) -> Optimizer:
    import torch

    return torch.optim.Adam(_copied(groups), fused=fused or None)


def _sgd(groups: Groups, momentum: float, fused: bool) -> Optimizer:
    import torch

    made = torch.optim.SGD(_copied(groups), momentum=momentum, fused=fused or None)
    if fused and momentum:
        # else the first step allocates them, without values if it is a bad one; from zeros that step gives the same
        for group in made.param_groups:
            for weight in group["params"]:
                made.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
    return made


def _lars(groups: Groups, momentum: float, _fused: bool) -> Optimizer:
    from timm.optim import Lars

    return Lars(_split(groups), momentum=momentum)


def _rmsprop(groups: Groups, momentum: float, _fused: bool) -> Optimizer:
    import torch

    return torch.optim.RMSprop(_copied(groups), momentum=momentum)


def _copied(groups: Groups) -> list[dict[str, Any]]:
    return [dict(group) for group in groups]


def _split(groups: Groups) -> list[dict[str, Any]]:
    """Split matrices and kernels, whose rate follows their norm, from biases, gains and other vectors.

    Vectors get plain SGD with momentum and no weight decay, as in SimCLR and in MoCo v3: their norm says little about
    how far a step may go, and starts at 0 for a bias.
    """
    parts = []
    for group in groups:
        weights = list(group["params"])
        parts += [
            {**group, "params": [w for w in weights if w.ndim > 1], "always_adapt": True},
            {**group, "params": [w for w in weights if w.ndim <= 1], "weight_decay": 0.0, "always_adapt": False},
        ]
    return [part for part in parts if part["params"]]


OPTIMISERS: Mapping[str, OptimiserDescriptor] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            OptimiserDescriptor(
                name="adamw",
                title="AdamW",
                sentence="Steps scaled by each weight's recent gradients; the weight decay is apart from them.",
                make=_adamw,
                fused=True,
            ),
            OptimiserDescriptor(
                name="adam",
                title="Adam",
                sentence="The same with the weight decay added to the gradient.",
                make=_adam,
                fused=True,
            ),
            OptimiserDescriptor(
                name="sgd",
                title="SGD",
                sentence="Gradient descent with momentum.",
                make=_sgd,
                fused=True,
                momentum=True,
            ),
            OptimiserDescriptor(
                name="lars",
                title="LARS",
                sentence="SGD for large batches: each matrix's rate follows its norm; vectors have no weight decay.",
                make=_lars,
                momentum=True,
            ),
            OptimiserDescriptor(
                name="rmsprop",
                title="RMSProp",
                sentence="Steps divided by the size of each weight's recent gradients, with momentum.",
                make=_rmsprop,
                momentum=True,
            ),
        )
    }
)


WARM_UP_STEPS = 30  # Adam's second moments are noise before about this many steps
FLOOR = 0.02  # a run that takes longer than estimated still trains
DROP = 0.1  # MoCo's, and that of most who train by steps
DROPS = (0.6, 0.8)  # of the budget: epochs 120 and 160 of MoCo's 200


def cosine(progress: float, drops: Sequence[float] = ()) -> float:
    """Fall along a half cosine from 1 to :data:`FLOOR`."""
    return max(FLOOR, 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


def dropped(progress: float, drops: Sequence[float]) -> float:
    """Return 1, and a tenth of what it was from each of the shares ``drops`` of the budget on."""
    return DROP ** sum(progress >= share for share in drops)


def constant(progress: float, drops: Sequence[float] = ()) -> float:
    """Return 1 at any time."""
    return 1.0


SCHEDULES: Mapping[str, Callable[[float, Sequence[float]], float]] = MappingProxyType(
    {"cosine": cosine, "step": dropped, "constant": constant}
)
"""The factor on the learning rates by the share of the budget used, 0..1, after the warm-up."""


def warm(step: int, warm_up: int) -> float:
    """Rise from 1 / ``warm_up`` at step 0 to 1, in equal parts; 1 without a warm-up."""
    return min(1.0, (step + 1) / warm_up) if warm_up else 1.0


def halved(epochs: float, every: float) -> float:
    """Return 1, then 1/2 after ``every`` epochs, 1/4 after twice as many and so on, without a warm-up."""
    return 0.5 ** math.floor(epochs / every)
