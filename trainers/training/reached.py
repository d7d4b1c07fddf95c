"""The progress of a run through its stages, and how many steps it will take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainers.training.stage import Stage


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
