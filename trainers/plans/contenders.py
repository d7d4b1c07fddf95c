"""The runs of a fair comparison: the search of every arm, then the arms as chosen and as given, over the seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from trainers.comparison.words import shown
from trainers.config import RunConfig
from trainers.errors import ParameterError
from trainers.kinds import kind_of
from trainers.plans.axes import axes, conditions, counts, variants
from trainers.plans.config import MOST_RUNS, FairComparisonConfig, data_of
from trainers.plans.planned import Outcomes, PlannedRun
from trainers.plans.search import Contender, Search, mark, search, with_point

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
