"""The runs of a fair comparison: the search of every arm, then the arms as chosen and as given, over the seeds."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainers.cells import finite_number
from trainers.comparison.words import shown
from trainers.config import RunConfig
from trainers.errors import ParameterError
from trainers.kinds import kind_of
from trainers.metrics.names import describe
from trainers.plans.axes import axes, conditions, counts, variants
from trainers.plans.config import MOST_RUNS, FairComparisonConfig, data_of
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


CHOSEN, DEFAULTS = "chosen", "defaults"


def contenders(config: FairComparisonConfig) -> list[Contender]:
    """List every arm, with every combination of its parameters that are varied, under every condition."""
    kind, run = kind_of(config.run), _compared(config)
    varied = axes(config.vary, run)
    settings = [axis for axis in varied if axis.path]
    arms, compared = variants(run, varied)
    entered = []
    for condition, changed in conditions(run, settings):
        names = [f"{axis.name}={condition[axis.title]}" for axis in settings]
        words = [f"{title.lower()} {shown(value)}" for title, value in condition.items()]
        for index, (arm, variant) in enumerate(zip(arms, compared, strict=True)):
            entered.append(
                Contender(
                    name=",".join([f"loss={index}", *names]),
                    title=", ".join([variant.title, *words]),
                    variant=variant,
                    condition=condition,
                    config=kind.with_arms(changed, [arm]),
                )
            )
    return entered


def searches(config: FairComparisonConfig, outcomes: Outcomes) -> list[Search]:
    """Return one search per contender, in order, as far as the outcomes go."""
    return [search(config, contender, outcomes) for contender in contenders(config)]


def planned_runs(config: FairComparisonConfig, outcomes: Outcomes) -> list[PlannedRun]:
    """Plan the trials first; then each arm as chosen, when its search has ended, and as given.

    Raises:
        ParameterError: there are too many.
    """
    check_count(config)
    searched = searches(config, outcomes)
    trials = [run for search in searched for trial in search.trials for run in trial.runs]
    compared = [
        run
        for search in searched
        for run in (*(chosen_runs(config, search) if search.ended else ()), *default_runs(config, search))
    ]
    return [*trials, *compared]


def chosen_runs(config: FairComparisonConfig, search: Search) -> list[PlannedRun]:
    """Plan a run per seed with the values that an ended search chose; none if they are those given."""
    if _given_is_best(search):
        return []
    name = f"{search.contender.name},{mark(search.space, search.chosen.point)}"
    contender = dataclasses.replace(search.contender, name=name)
    return list(_over_seeds(config, contender, with_point(contender, search.space, search.chosen.point), CHOSEN))


def default_runs(config: FairComparisonConfig, search: Search) -> list[PlannedRun]:
    """Plan a run per seed with the settings as they were given; the same results count as chosen if the search found no
    better ones. Where those given are not to be compared, none while the search goes on or has found better ones.
    """
    also = (CHOSEN,) if search.ended and _given_is_best(search) else ()
    if not (config.compare_given or also):
        return []
    return list(_over_seeds(config, search.contender, search.contender.config, DEFAULTS, also))


def _given_is_best(search: Search) -> bool:
    return search.chosen.point == search.space.first


def most_runs(config: FairComparisonConfig) -> dict[str, int]:
    """Count the runs that each part has when every search chooses other settings than those given."""
    under, arms = counts(axes(config.vary, config.run), config.run)
    count = under * arms
    compared = count * len(config.seeds)
    given = compared if config.compare_given else 0  # then those given are among those chosen, if at all
    return {"search": count * config.trials * config.folds, CHOSEN: compared, DEFAULTS: given}


def check_count(config: FairComparisonConfig) -> None:
    """Check that no part has too many runs, before any is made.

    Raises:
        ParameterError: one has.
    """
    for part, count in most_runs(config).items():
        if count > MOST_RUNS:
            raise ParameterError(
                f"The part {part} of a fair comparison has at most {MOST_RUNS} runs; this one would have {count:,}. "
                "Ask for fewer trials, folds, seeds or losses."
            )


def _over_seeds(
    config: FairComparisonConfig,
    contender: Contender,
    base: RunConfig,
    part: str,
    also: tuple[str, ...] = (),
) -> Iterator[PlannedRun]:
    for seed in config.seeds:
        yield PlannedRun(
            name=f"{part},{contender.name},seed={seed}",
            title=f"{contender.title}, {part}, seed {seed}",
            config=base.changed(seed=seed),
            condition=contender.condition,
            seed=seed,
            variants=(contender.variant,),
            part=part,
            also=also,
        )


def without_folds(run: RunConfig) -> RunConfig:
    """Put a run on all classes."""
    data = data_of(run)
    plain = dataclasses.replace(data.conditions, folds=0, fold=1)
    return run.changed(data=dataclasses.replace(data, conditions=plain))


def _compared(config: FairComparisonConfig) -> RunConfig:
    """Return the settings of the runs that are compared: on data without folds, with the metric that decides."""
    run = without_folds(config.run)
    kind, asked = kind_of(run), getattr(run, "metrics", ())
    fresh = () if config.select_by in kind.measures.whole else (config.select_by,)
    return run.changed(metrics=tuple(dict.fromkeys((*asked, *fresh))))
