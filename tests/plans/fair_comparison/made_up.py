"""Outcomes of trials by a formula instead of a training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans.config import FairComparisonConfig, apart
from trainers.plans.fair_comparison import DESCRIPTOR as PLAN
from trainers.plans.planned import Outcome, PlannedRun

Score = Callable[[PlannedRun], float | None]
COMPARED = ("contextual", "triplet", "multi_similarity")


def fair(*losses: str, **changes: object) -> FairComparisonConfig:
    """A small fair comparison of :data:`COMPARED`, or of others."""
    chosen = tuple(Choice(name=name) for name in losses or COMPARED)
    own, _, settings = apart(FairComparisonConfig, {"minutes": None, "steps": 10} | changes)
    return FairComparisonConfig(run=MetricLearningConfig(losses=chosen, **settings), **own)


def hill(run: PlannedRun) -> float:
    """Highest at a learning rate of 0.0005 for every loss, and at a margin of 0.05 for triplet."""
    (loss,) = run.config.losses  # type: ignore[attr-defined]
    away = abs(math.log10(run.config.learning_rate / 5e-4))
    if loss.name == "triplet":
        away += abs(math.log10(loss.parameters.get("margin", 0.2) / 0.05))
    return 1.0 / (1.0 + away)


def outcome(run: PlannedRun, score: Score) -> Outcome:
    """Finished with ``score`` as mAP@R, or failed where that is None."""
    value = score(run)
    if value is None:
        return Outcome(finished=False, seconds=1.0, error="It diverged.")
    return Outcome(finished=True, numbers=({"AP_at_R": value, "R_at_1": value / 2},), seconds=2.0)


def played(config: FairComparisonConfig, score: Score = hill) -> Iterator[tuple[Sequence[PlannedRun], dict]]:
    """The plan and the outcomes it was made from, after every run that ends, the first waiting one each time."""
    outcomes: dict[str, Outcome] = {}
    while True:
        planned = PLAN.plan(config, outcomes)
        yield planned, dict(outcomes)
        waiting = [run for run in planned if run.name not in outcomes]
        if not waiting:
            return
        outcomes[waiting[0].name] = outcome(waiting[0], score)


def whole(config: FairComparisonConfig, score: Score = hill) -> tuple[Sequence[PlannedRun], dict[str, Outcome]]:
    """The plan and the outcomes when all is done."""
    *_, last = played(config, score)
    return last
