"""Stages of a run: their budgets and networks, how far a run is, and when the maps get their next frame."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

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


@dataclass(frozen=True)
class StageStart:
    """The stage that is trained, and the steps and seconds of the run when it began."""

    index: int = 0
    step: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Reached:
    """The point that a run has reached.

    Attributes:
        stages: of the run, their budgets in steps or minutes.
        start: of the stage that is trained.
        step, seconds: of the whole run so far.
    """

    stages: Sequence[Stage]
    start: StageStart
    step: int
    seconds: float

    @property
    def of_stage(self) -> float:
        """Share of the budget of the stage that is trained, 0..1."""
        return self._stage.progress(*self._used)

    @property
    def scheduled(self) -> float:
        """Share of the schedule of the stage that is trained, 0..1."""
        return self._stage.scheduled(*self._used)

    @property
    def of_run(self) -> float:
        """Share of the budget of the run, 0..1; every stage counts alike."""
        return (self.start.index + self.of_stage) / len(self.stages)

    @property
    def planned_steps(self) -> int | None:
        """The number of steps the run will take: the limits, or an estimate from the speed so far; None: not known yet.

        Stages that are over count the steps they took, and those after this one their limits where they have one.
        """
        limits = [self.planned_in(index) for index in range(self.start.index, len(self.stages))]
        known = [steps for steps in limits if steps]
        if len(known) == len(limits):
            return self.start.step + sum(known)
        if not self.step or not self.of_run:
            return None
        return max(self.step, round(self.step / self.of_run))

    def planned_in(self, index: int) -> int | None:
        """Return how many steps a stage takes: its limit, or an estimate from its speed while it trains; None: that is
        not known, or the stage is over.
        """
        done, used = self._used[0], self.of_stage
        if index < self.start.index:
            return None
        if index == self.start.index and self._stage.minutes and done and used:
            return max(done, round(done / used))
        return self.stages[index].steps

    @property
    def _stage(self) -> Stage:
        return self.stages[self.start.index]

    @property
    def _used(self) -> tuple[int, float]:
        """Steps and seconds of the stage that is trained."""
        return self.step - self.start.step, self.seconds - self.start.seconds


CLOSEST_SECONDS = 1.0  # a map that moves about once a second looks continuous when points glide half a second
WIDEST_SECONDS = 5.0  # with a step and the evaluation on top, a map is never older than six seconds
FIRST_FRAMES = 12  # the first frames come at the shortest interval: the visitor has just pressed Train and is watching
MOST_SHARE = 3.0  # the next evaluation waits three times as long as the last one took: a quarter of the time at most
USUAL_SHARE = 10.0  # after the first frames ten times, an eleventh of the time, unless the map would be too old
STRIDE = 0.1  # mean 1 - cosine that one frame should show; at full learning rate it is 0.1 to 0.3 a second
_QUICKEST, _SLOWEST = 0.5, 1.5  # most that one frame changes the distance to the next


class Pace:
    """Chooses the seconds between two frames from how far the probe's embeddings moved between the last two.

    Weights never depend on it, so a resumed run need not repeat the frames of an uninterrupted one.

    Attributes:
        seconds: training time from the last frame to the next, before the cost of an evaluation is counted.
        motion: mean 1 - cosine between the last two frames, of the arm that moved most; None before the second.
    """

    def __init__(self) -> None:
        self.seconds = CLOSEST_SECONDS
        self.motion: float | None = None
        self._frames = 0
        self._last: Sequence[Tensor] | None = None
        self._at = 0.0

    def add(self, k: int, seconds: float, embeddings: Sequence[Tensor]) -> None:
        """Record that frame ``k`` was made at ``seconds`` of training, from unit rows float ``[P, D]`` of each arm."""
        if self._last is not None:
            moved = [1 - (new * old).sum(1).mean().item() for new, old in zip(embeddings, self._last, strict=True)]
            self.motion = max(0.0, *moved)  # rounding can give a tiny negative number at equal weights
            passed = max(seconds - self._at, CLOSEST_SECONDS)
            factor = min(_SLOWEST, max(_QUICKEST, STRIDE / max(self.motion, 1e-9)))
            self.seconds = min(WIDEST_SECONDS, max(CLOSEST_SECONDS, passed * factor))
        self._last, self._at, self._frames = embeddings, seconds, k + 1
        if self._frames < FIRST_FRAMES:
            self.seconds = CLOSEST_SECONDS

    def due(self, passed: float, cost: float) -> bool:
        """Return whether a frame is due ``passed`` seconds of training after the last, which took ``cost`` seconds."""
        usual = USUAL_SHARE * cost if self._frames >= FIRST_FRAMES else 0.0
        return passed >= max(min(max(self.seconds, usual), WIDEST_SECONDS), MOST_SHARE * cost)
