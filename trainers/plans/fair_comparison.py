"""Fair comparisons of arms: each is searched with the same budget before they are compared."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from trainers.config import PLAN_VERBS
from trainers.errors import ParameterError
from trainers.kinds import kind_of
from trainers.plans.axes import axes
from trainers.plans.config import FOLDS, FairComparisonConfig, data_of
from trainers.plans.planned import Outcomes, PlannedRun
from trainers.plans.sweep import RunnablePlan

if TYPE_CHECKING:
    from trainers.plans.planned import Child, Finding, PlanPart

_NOT_VARIED = ("learning_rate", "folds", "fold")


class FairComparison(RunnablePlan[FairComparisonConfig]):
    """See the module."""

    name = FairComparisonConfig.kind
    title = "Fair comparison"
    verb = PLAN_VERBS[FairComparisonConfig.kind]
    sentence = (
        "Search every loss or method with the same budget on folds of the training data, then compare the best "
        "settings of each, and the settings given, over several seeds."
    )
    order = 11
    parts: ClassVar[Mapping[str, str]] = MappingProxyType({"chosen": "Settings chosen", "defaults": "Settings given"})
    config = FairComparisonConfig

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Say what the flags of the folds mean here."""
        parser.epilog = f"--folds are those of the search, {FOLDS} if not given; --fold is not used."

    def check_plan(self, config: FairComparisonConfig) -> None:
        """Check the search and its size."""
        from trainers.plans.search import check_count

        _check_search(config)
        check_count(config)

    def plan(self, config: FairComparisonConfig, outcomes: Outcomes) -> Sequence[PlannedRun]:
        """Plan trials of every arm, the next one from the results before; then runs over the seeds on all classes."""
        from trainers.plans.search import planned_runs

        return planned_runs(config, outcomes)

    def first_runs(self, config: FairComparisonConfig) -> Sequence[PlannedRun]:
        """List of every arm and condition the first trial's first run, and the first seed as given."""
        from trainers.plans.search import default_runs, searches

        both = dataclasses.replace(config, trials=1, compare_given=True)
        searched = searches(both, {})
        return [run for search in searched for run in (search.trials[0].runs[0], default_runs(both, search)[0])]

    def rehearsed(self, config: FairComparisonConfig) -> Sequence[PlannedRun]:
        """List runs of the first arm under every condition, on a fold and on all classes."""
        planned = self.first_runs(config)
        return [run for run in planned if run.variants == planned[0].variants]

    def findings(
        self, config: FairComparisonConfig, children: Sequence[Child], parts: Sequence[PlanPart]
    ) -> Sequence[Finding]:
        """Say whether the search changed the verdicts, what it chose, what was searched and what it cost."""
        from trainers.plans.findings import findings

        return findings(config, children, parts)

    def advice(self, config: FairComparisonConfig) -> list[str]:
        """List the advice on its runs, and on a budget that is not the same for every arm."""
        minutes = "In equal minutes a slower one is trained for fewer steps. Give steps or epochs for an equal number."
        timed = config.run.steps is None and config.run.epochs is None
        return [*super().advice(config), *([minutes] if timed else [])]

    def run_title(self, config: FairComparisonConfig, data: str) -> str:
        """Write that of a sweep, told apart from one."""
        return f"Fair comparison: {super().run_title(config, data)}"

    def data_title(self, config: FairComparisonConfig) -> str:
        """Name the images of the runs that are compared."""
        from trainers.plans.search import without_folds

        return kind_of(config.run).data_title(without_folds(config.run))

    def details(self, config: FairComparisonConfig) -> list[str]:
        """List the search, then as of a sweep."""
        return [f"{config.trials} trials each on {config.folds} folds", *super().details(config)]

    def trained(self, config: FairComparisonConfig) -> str:
        """Say it as of a sweep; the settings that are chosen may be those given, which are trained once."""
        return f"at most {super().trained(config)} after the search"

    def sizes(self, config: FairComparisonConfig) -> Mapping[str, int]:
        """Return the largest of its runs, and how many there may be."""
        from trainers.plans.search import most_runs

        return {**super().sizes(config), "runs": sum(most_runs(config).values())}


def _check_search(config: FairComparisonConfig) -> None:
    from trainers.metrics.names import ASKED_MENU, describe

    folds, fold = config.folds, data_of(config.run).conditions.fold
    if folds < 2 or fold != 1:
        raise ParameterError(
            f"A fair comparison needs 2 folds or more and trains on each of them in turn; got {folds} folds and "
            f"fold {fold}. Choose the number of folds, and no fold."
        )
    for axis in axes(config.vary, config.run):
        if axis.path and axis.path[-1] in _NOT_VARIED:
            raise ParameterError(
                f"A fair comparison searches the learning rate and has folds of its own; {axis.name} cannot be varied. "
                "Vary another setting, or use a sweep."
            )
    if config.select_by not in kind_of(config.run).measures.whole:
        ASKED_MENU.check(config.select_by)
    if not describe(config.select_by).measure.better:
        raise ParameterError(f"Trials are chosen by a metric that is better in one direction; got {config.select_by}.")


DESCRIPTOR = FairComparison()
