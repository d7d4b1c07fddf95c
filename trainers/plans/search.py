"""The search of one arm under one condition: its trials so far, and the runs they are made of."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainers.cells import finite_number
from trainers.config import RunConfig
from trainers.kinds import kind_of
from trainers.metrics.names import describe
from trainers.plans.config import FairComparisonConfig, data_of
from trainers.plans.planned import Outcome, Outcomes, PlannedRun, Variant
from trainers.plans.space import Point, Space, proposed, rate_alone, space_of, starts

SEARCH = "search"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One arm under one condition.

    Attributes:
        name: unique in the plan and the same whenever it is planned again.
        title: in words.
        variant: the arm, as the results call it.
        condition: the settings that are varied, by title.
        config: of its runs, of this arm alone, with the settings that were given, without folds.
    """

    name: str
    title: str
    variant: Variant
    condition: Mapping[str, Any]
    config: RunConfig


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One point, trained once per fold.

    Attributes:
        number: from 0.
        runs: one per fold.
        ended: all of them have.
        scores: the metric on each fold; None: the run has not ended, failed or diverged.
        seconds: of training, of those that have ended.
    """

    number: int
    point: Point
    runs: tuple[PlannedRun, ...]
    ended: bool
    scores: tuple[float | None, ...]
    seconds: float

    @property
    def score(self) -> float | None:
        """The mean over the folds; None: one is missing."""
        known = [score for score in self.scores if score is not None]
        return sum(known) / len(known) if len(known) == len(self.scores) else None


@dataclass(frozen=True, kw_only=True)
class Search:
    """The trials of a contender that are planned so far.

    Attributes:
        total: how many there will be.
        maximise: a higher score is better.
    """

    contender: Contender
    space: Space
    trials: tuple[Trial, ...]
    total: int
    maximise: bool

    @property
    def ended(self) -> bool:
        """Whether nothing is left to try."""
        return len(self.trials) == self.total and all(trial.ended for trial in self.trials)

    @property
    def chosen(self) -> Trial:
        """The best trial so far, the earlier one of equals; the first one if none has a score."""
        scored = [trial for trial in self.trials if trial.score is not None]
        sign = 1 if self.maximise else -1
        return max(scored, key=lambda trial: (sign * (trial.score or 0.0), -trial.number), default=self.trials[0])


def search(config: FairComparisonConfig, contender: Contender, outcomes: Outcomes) -> Search:
    """Return the search of a contender as far as the outcomes go.

    The first trial has the settings that were given. As many as :func:`starts` says are planned at once; each later one
    when all before it have ended.
    """
    (arm,) = kind_of(contender.config).arms(contender.config)
    given, rate = arm.parameters, contender.config.learning_rate
    space = rate_alone(given, rate) if config.searched == "rate" else space_of(arm.schema, given, rate)
    maximise = describe(config.select_by).measure.better == "up"
    trials: list[Trial] = []
    while len(trials) < config.trials:
        number, at_once = len(trials), starts(config.trials)
        if number >= at_once and not all(trial.ended for trial in trials):
            break
        past = tuple((trial.point, trial.score) for trial in trials) if number >= at_once else ()
        point = space.first
        if number:
            point = proposed(space.dimensions, past, number=number, seed=config.search_seed, maximise=maximise)
        trials.append(_trial(config, contender, space, number, point, outcomes))
    return Search(contender=contender, space=space, trials=tuple(trials), total=config.trials, maximise=maximise)


def with_point(contender: Contender, space: Space, point: Point) -> RunConfig:
    """Return the settings of a contender's runs with the values of a point."""
    rate, parameters = space.apart(point)
    kind = kind_of(contender.config)
    (arm,) = kind.listed(contender.config)
    changed: RunConfig = kind.with_arms(contender.config, [kind.with_parameters(arm, parameters)])
    return changed.changed(learning_rate=rate)


def mark(space: Space, point: Point) -> str:
    """Return a short text, different for different points: part of the names of their runs."""
    text = json.dumps(space.values(point), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _trial(
    config: FairComparisonConfig, contender: Contender, space: Space, number: int, point: Point, outcomes: Outcomes
) -> Trial:
    base = with_point(contender, space, point)
    if config.search_steps is not None:
        base = base.changed(steps=config.search_steps)
    name, title = f"{contender.name},trial={number},{mark(space, point)}", f"trial {number + 1} of {contender.title}"
    runs = tuple(
        PlannedRun(
            name=f"{SEARCH},{name},fold={fold}",
            title=f"{title}, fold {fold}",
            config=_on_fold(base, config, fold),
            condition=contender.condition,
            seed=config.search_seed,
            variants=(contender.variant,),
            part=SEARCH,
        )
        for fold in range(1, config.folds + 1)
    )
    ended = [outcomes[run.name] for run in runs if run.name in outcomes]
    return Trial(
        number=number,
        point=point,
        runs=runs,
        ended=len(ended) == len(runs),
        scores=tuple(_score(outcomes.get(run.name), config.select_by) for run in runs),
        seconds=sum(outcome.seconds for outcome in ended),
    )


def _score(outcome: Outcome | None, metric: str) -> float | None:
    if outcome is None or not outcome.finished:
        return None
    return finite_number(outcome.numbers[0].get(metric))


def _on_fold(base: RunConfig, config: FairComparisonConfig, fold: int) -> RunConfig:
    data = data_of(base)
    conditions = dataclasses.replace(data.conditions, folds=config.folds, fold=fold)
    return base.changed(seed=config.search_seed, data=dataclasses.replace(data, conditions=conditions))
