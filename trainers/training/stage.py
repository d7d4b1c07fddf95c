"""A stage: part of a run with its own budget, schedule and networks to train."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from trainers.config import RunConfig, converted
from trainers.optimization import SCHEDULES, halved, warm


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The settings of one stage of a run; their meaning is that of :class:`trainers.config.RunConfig`.

    Attributes:
        title: written to the log when the stage begins.
        word: before the number of its steps, where a run has several stages.
        backbone_rate: see :class:`trainers.config.StartConfig`; kinds that train no encoder have no such setting.
        networks: names of an arm's networks that are trained; None: all of them.
    """

    title: str = "training"
    word: str = ""
    minutes: float | None
    steps: int | None
    epochs: float | None
    optimiser: str
    momentum: float
    learning_rate: float
    schedule: str
    drops: tuple[float, ...]
    warm_up: int
    halve_every: float | None
    weight_decay: float
    clip_norm: float | None
    precision: str
    backbone_rate: float = 1.0
    networks: Collection[str] | None = None

    @classmethod
    def of(cls, config: RunConfig, **changes: Any) -> Stage:
        """Make a stage with a run's settings, and ``changes``."""
        return converted(config, cls, **changes)

    def progress(self, steps: int, seconds: float) -> float:
        """Share of the budget that so many steps and seconds of this stage use, 0..1; the larger of both counts."""
        return min(1.0, max(self._by_steps(steps), self._by_time(seconds)))

    def scheduled(self, steps: int, seconds: float) -> float:
        """Share of the schedule, 0..1: of the steps alone where there is a number of them, else of the time.

        A clock in the schedule would train other weights on a faster or a busier machine.
        """
        return min(1.0, self._by_steps(steps) if self.steps else self._by_time(seconds))

    def factor(self, step: int, progress: float, epoch: int) -> float:
        """Return the schedule's factor on the learning rates.

        Args:
            step: of this stage, from 0.
            progress: share of its schedule, 0..1, of :meth:`scheduled`.
            epoch: steps in one epoch.
        """
        if self.halve_every is not None:
            return halved(step / epoch, self.halve_every)
        return warm(step, self.warm_up) * SCHEDULES[self.schedule](progress, self.drops)

    def in_steps(self, epoch: int) -> Stage:
        """Convert a budget in epochs to steps; ``epoch``: steps in one."""
        if self.epochs is None:
            return self
        most = max(1, math.ceil(self.epochs * epoch))
        return dataclasses.replace(self, steps=most if self.steps is None else min(most, self.steps))

    def _by_steps(self, steps: int) -> float:
        return steps / self.steps if self.steps else 0.0

    def _by_time(self, seconds: float) -> float:
        return seconds / (60 * self.minutes) if self.minutes else 0.0
