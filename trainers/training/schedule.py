"""Learning-rate schedules, and budgets in epochs converted to steps."""

from __future__ import annotations

import dataclasses
import math

from trainers.training.stage import Stage

WARM_UP_STEPS = 30  # Adam's second moments are noise before about this many steps
FLOOR = 0.02  # a run that takes longer than estimated still trains


def factor(step: int, progress: float, warm_up: int = WARM_UP_STEPS) -> float:
    """Linear warm-up over the first steps, then a half cosine.

    Args:
        step: steps done so far.
        progress: share of the budget used, 0..1; by steps when the run has a number of them, else by time.
        warm_up: how many the first steps are.
    """
    warm = min(1.0, (step + 1) / warm_up)
    return warm * max(FLOOR, 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


def halved(epochs: float, every: float) -> float:
    """1, then 1/2 after ``every`` epochs, 1/4 after twice as many and so on, without a warm-up."""
    return 0.5 ** math.floor(epochs / every)


def factor_of(stage: Stage, step: int, progress: float, epoch: int) -> float:
    """The factor on the learning rates that a stage asks for at its own ``step``; ``epoch``: steps in one."""
    return factor(step, progress) if stage.halve_every is None else halved(step / epoch, stage.halve_every)


def in_steps(stage: Stage, epoch: int) -> Stage:
    """The stage with its budget in epochs converted to steps; ``epoch``: steps in one."""
    if stage.epochs is None:
        return stage
    most = max(1, math.ceil(stage.epochs * epoch))
    return dataclasses.replace(stage, steps=most if stage.steps is None else min(most, stage.steps))
