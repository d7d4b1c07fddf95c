"""Fair comparisons of losses: each is searched with the same budget before they are compared."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from trainers.config import RunConfig
from trainers.errors import ParameterError
from trainers.kinds.fair_comparison.config import FOLDS, FairComparisonConfig
from trainers.kinds.sweep.kind import Sweep, check_seeds, rehearse_runs
from trainers.plans.planned import Outcomes, PlannedRun

if TYPE_CHECKING:
    from trainers.data.base import Progress
    from trainers.plans.contents import Finding, Part
    from trainers.plans.planned import Child

_NOT_VARIED = ("learning_rate", "folds", "fold")


class FairComparison(Sweep):
    """See the module."""

    name = "fair_comparison"
    title = "Fair comparison"
    verb = "fair"
    sentence = (
        "Search every loss with the same budget on folds of the training classes, then compare the best settings of "
        "each, and the settings given, over several seeds."
    )
    order = 11
    parts: ClassVar[Mapping[str, str]] = MappingProxyType({"chosen": "Settings chosen", "defaults": "Settings given"})
    config: ClassVar[type[RunConfig]] = FairComparisonConfig
    main = ("trials", "select_by", "seeds", "vary", "minutes")
    more = ("search_steps", "search_seed", *Sweep.more)

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Say what the flags of the folds mean here."""
        parser.epilog = f"--folds are those of the search, {FOLDS} if not given; --fold is not used."

    def check(self, config: FairComparisonConfig) -> None:
        """Check the search, its size, and a run of every loss and condition on a fold and on all classes."""
        from trainers.kinds import check as check_run
        from trainers.kinds.fair_comparison.plan import check_count

        check_seeds(config)
        _check_search(config)
        check_count(config)
        for one in self._first(config):
            check_run(one.config)

    def rehearse(self, config: FairComparisonConfig, root: Path, progress: Progress) -> list[str]:
        """Rehearse a run of the first loss under every condition, on a fold and on all classes."""
        planned = self._first(config)
        return rehearse_runs([one for one in planned if one.variants == planned[0].variants], root, progress)

    def plan(self, config: FairComparisonConfig, outcomes: Outcomes) -> Sequence[PlannedRun]:
        """The trials of every loss, the next one from the results before; then runs over the seeds on all classes."""
        from trainers.kinds.fair_comparison.plan import planned_runs

        return planned_runs(config, outcomes)

    def findings(
        self, config: FairComparisonConfig, children: Sequence[Child], parts: Sequence[Part]
    ) -> Sequence[Finding]:
        """Whether the search changed the verdicts, what it chose, what was searched and what it cost."""
        from trainers.kinds.fair_comparison.findings import findings

        return findings(config, children, parts)

    def advice(self, config: FairComparisonConfig) -> list[str]:
        """As of its runs, and on a budget that is not the same for every loss."""
        minutes = "In equal minutes a slower loss is trained for fewer steps. Give steps or epochs for an equal number."
        return [*super().advice(config), *([minutes] if config.steps is None and config.epochs is None else [])]

    def run_title(self, config: FairComparisonConfig, data: str) -> str:
        """As of a sweep, told apart from one."""
        return f"Fair comparison: {super().run_title(config, data)}"

    def data_title(self, config: FairComparisonConfig) -> str:
        """That of the runs that are compared."""
        plain = dataclasses.replace(config.data.conditions, folds=0, fold=1)
        return super().data_title(dataclasses.replace(config, data=dataclasses.replace(config.data, conditions=plain)))

    def details(self, config: FairComparisonConfig) -> list[str]:
        """The search, then as of a sweep."""
        return [f"{config.trials} trials per loss on {config.folds} folds", *super().details(config)]

    def sizes(self, config: FairComparisonConfig) -> Mapping[str, int]:
        """The largest of its runs, and how many there may be."""
        from trainers.kinds.fair_comparison.plan import most_runs

        return {**super().sizes(config), "runs": sum(most_runs(config).values())}

    def _first(self, config: FairComparisonConfig) -> list[PlannedRun]:
        """Of every loss and condition the first trial's first run, and the first seed as given."""
        from trainers.kinds.fair_comparison.plan import default_runs, searches

        found = searches(dataclasses.replace(config, trials=1), {})
        return [run for one in found for run in (one.trials[0].runs[0], default_runs(config, one)[0])]


def _check_search(config: FairComparisonConfig) -> None:
    from trainers.kinds.sweep.axes import axes
    from trainers.metrics.asked import MENU
    from trainers.metrics.names import describe

    folds, fold = config.folds, config.data.conditions.fold
    if folds < 2 or fold != 1:
        raise ParameterError(
            f"A fair comparison needs 2 folds or more and trains on each of them in turn; got {folds} folds and "
            f"fold {fold}. Choose the number of folds, and no fold."
        )
    for axis in axes(config.vary, config.losses):
        if axis.path and axis.path[-1] in _NOT_VARIED:
            raise ParameterError(
                f"A fair comparison searches the learning rate and has folds of its own; {axis.name} cannot be varied. "
                "Vary another setting, or use a sweep."
            )
    MENU.check(config.select_by)
    if not describe(config.select_by).measure.better:
        raise ParameterError(f"Trials are chosen by a metric that is better in one direction; got {config.select_by}.")
