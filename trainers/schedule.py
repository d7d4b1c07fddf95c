"""How the learning rate moves over a run."""

from __future__ import annotations

import math

WARM_UP_STEPS = 30  # Adam's second moments are noise before about this many steps
FLOOR = 0.02  # a run that outlives its estimate still moves


def factor(step: int, progress: float) -> float:
    """Linear warm-up over the first steps, then a half cosine.

    Args:
        step: steps done so far.
        progress: share of the budget used, 0..1; by steps when the run has a number of them, else by time.
    """
    warm = min(1.0, (step + 1) / WARM_UP_STEPS)
    return warm * max(FLOOR, 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
