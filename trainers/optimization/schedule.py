"""Learning-rate schedules: the factor on the learning rates over a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

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
