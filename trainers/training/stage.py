"""A stage: part of a run with its own budget, schedule and networks to train."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from trainers.config import RunConfig


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The settings of one stage of a run; their meaning is that of :class:`trainers.config.RunConfig`.

    Attributes:
        title: written to the log when the stage begins.
        networks: names of an arm's networks that are trained; None: all of them.
    """

    title: str = "training"
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
    networks: Collection[str] | None = None

    @classmethod
    def of(cls, config: RunConfig, **changes: Any) -> Stage:
        """A stage with a run's settings, and ``changes``."""
        shared = {field.name for field in dataclasses.fields(cls)} & {
            field.name for field in dataclasses.fields(config)
        }
        return cls(**{name: getattr(config, name) for name in shared} | changes)

    def progress(self, steps: int, seconds: float) -> float:
        """Share of the budget that so many steps and seconds of this stage use, 0..1; the larger of both counts."""
        by_steps = steps / self.steps if self.steps else 0.0
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        return min(1.0, max(by_steps, by_time))
