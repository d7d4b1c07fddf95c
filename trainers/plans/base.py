"""The descriptor of a plan: what it asks of the kind of its runs, and what it adds."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from trainers.config import Config, RunConfig
from trainers.errors import ParameterError, UserError
from trainers.kinds import kind_of
from trainers.kinds.arm_view import written
from trainers.kinds.base import Kind
from trainers.parameters import check_all
from trainers.plans.axes import Axis, axes, conditions
from trainers.plans.config import MOST_SEEDS, S, SweepConfig, sweep_of
from trainers.plans.planned import Outcomes, PlannedRun
from trainers.progress import Progress, part_of
from trainers.runs.records import PHASES, Phase

if TYPE_CHECKING:
    from trainers.metrics.measures import Measures
    from trainers.plans.planned import Child, Finding, PlanPart
    from trainers.training.footprint import Footprint


def _of_run(name: str) -> Any:
    """Make a method that asks the kind of the runs about the settings of one."""

    def method(_plan: Plan[Any], config: SweepConfig) -> Any:
        return getattr(kind_of(config.run), name)(config.run)

    return method


class Plan(Kind[S]):
    """A plan trains nothing itself: it wraps the settings of a run of any kind, and says which such runs are trained.

    Attributes:
        parts: titles of the parts whose runs are compared, by name.
    """

    plans = True
    no_images = (
        "is a comparison of several runs and holds no images itself. Choose one of its runs; the "
        "tab Compare lists them."
    )
    parts: ClassVar[Mapping[str, str]] = MappingProxyType({"": "Results"})

    arms, source, line = _of_run("arms"), _of_run("source"), _of_run("line")
    data_title, budget, measures_of = _of_run("data_title"), _of_run("budget"), _of_run("measures_of")

    # ------------------------------------------------------------ what it plans

    @abstractmethod
    def plan(self, config: S, outcomes: Outcomes) -> Sequence[PlannedRun]:
        """List the runs that are trained, in order.

        Args:
            outcomes: what came of those that have ended; further runs may be planned from them, and the same outcomes
                give the same plan.
        """

    @abstractmethod
    def first_runs(self, config: S) -> Sequence[PlannedRun]:
        """List planned runs that stand for all of them where the seeds make no difference."""

    def rehearsed(self, config: S) -> Sequence[PlannedRun]:
        """List planned runs that tell whether the images can be read and the encoder made."""
        return self.first_runs(config)

    def findings(self, config: S, children: Sequence[Child], parts: Sequence[PlanPart]) -> Sequence[Finding]:
        """Return what is known beyond the tables.

        Args:
            children: the runs that are planned so far.
            parts: the runs that are compared, with their tables.
        """
        return ()

    def suits(self, kind: Kind[Any]) -> bool:
        """Return whether it can plan runs of a kind."""
        return kind.folds or not self.config.folded

    # ----------------------------------------------------------------- training

    def check_shared(self, config: S) -> None:
        """Check the ranges of the plan's settings, and what holds for every run of those of its run."""
        check_all(config, "A run")
        kind_of(config.run).check_shared(config.run)

    def check(self, config: S) -> None:
        """Check the seeds and what is varied, and every run that is planned.

        Raises:
            UserError: the first thing that is wrong, with what is accepted and what it got.
        """
        from trainers.kinds import check as check_run

        if not self.suits(kind_of(config.run)):
            raise ParameterError(f"{self.title} cannot plan runs of {kind_of(config.run).title}. Use a sweep.")
        check_seeds(config)
        self.check_plan(config)
        for planned in self.first_runs(config):
            check_run(planned.config)

    def check_plan(self, config: S) -> None:
        """Check the plan itself, before any run of it is made."""

    def rehearse(self, config: S, root: Path, progress: Progress) -> list[str]:
        """Rehearse the runs of :meth:`rehearsed`, and return what is to be said of them, each sentence once.

        Raises:
            UserError: one cannot be trained; with which one it is.
        """
        said: dict[str, None] = {}
        planned = self.rehearsed(config)
        for number, run in enumerate(planned):
            share = part_of(progress, number / len(planned), (number + 1) / len(planned))
            try:
                said |= dict.fromkeys(kind_of(run.config).rehearse(run.config, root, share))
            except UserError as error:
                raise UserError(f"The runs that are planned cannot be trained. {error} ({run.title})") from error
        return list(said)

    def advice(self, config: S) -> list[str]:
        """List the advice on its runs, which may have other settings, each sentence once."""
        planned = self.plan(config, {})
        return list(dict.fromkeys(sentence for run in planned for sentence in kind_of(run.config).advice(run.config)))

    def runs_of(self, config: S) -> Sequence[RunConfig]:
        """Return those that are planned before any has ended."""
        return [run.config for run in self.plan(config, {})]

    def sizes(self, config: S) -> Mapping[str, int]:
        """Return the largest of its runs, and how many there are."""
        planned = self.plan(config, {})
        each = [kind_of(run.config).sizes(run.config) for run in planned]
        return {name: max(sizes[name] for sizes in each) for name in each[0]} | {"runs": len(planned)}

    def trained(self, config: S) -> str:
        """Say how many runs are trained, and with which seeds."""
        from trainers.comparison.words import seeds_in_words

        runs = self.sizes(config)["runs"]
        return f"{runs:,} run{'s' if runs > 1 else ''}, {seeds_in_words(config.seeds)}"

    def footprint(self, config: S) -> Footprint:
        """Estimate the memory of its largest run."""
        each = (kind_of(run.config).footprint(run.config) for run in self.plan(config, {}))
        return max(each, key=lambda footprint: footprint.total)

    # ------------------------------------------------------------------ numbers

    @property
    def measures(self) -> Measures:
        """They depend on the kind of its runs, whom ``measures_of`` asks."""
        raise NotImplementedError

    def headline(self, config: S) -> Sequence[str]:
        """Return none: its runs have numbers."""
        return ()

    # ----------------------------------------------------------------- settings

    def phase(self, name: str) -> Phase:
        """Return the phase without pausing: its runs cannot be paused together."""
        phase = PHASES[name]
        return dataclasses.replace(phase, acts=tuple(act for act in phase.acts if act != "pause"))

    # ------------------------------------------------------------------- titles

    def run_title(self, config: S, data: str) -> str:
        """Write that of its runs, what is varied, and how many seeds."""
        varied = "".join(f", over {axis.words}" for axis in known_axes(config))
        return f"{kind_of(config.run).run_title(config.run, data)}{varied}, {self.seeds(config)}"

    def details(self, config: S) -> list[str]:
        """List what is varied, then what its runs have in common."""
        varied, kind = known_axes(config), kind_of(config.run)
        values = [f"{axis.words} {', '.join(map(written, axis.values))}" for axis in varied]
        runs = [run for axis in varied if axis.path for _, run in conditions(config.run, [axis])] or [config.run]
        first, *others = [kind.details(run) for run in runs]
        return [*values, *(detail for detail in first if all(detail in other for other in others))]

    def seeds(self, config: S) -> str:
        """Say how many there are."""
        return f"seed {config.seeds[0]}" if len(config.seeds) == 1 else f"{len(config.seeds)} seeds"


def plan_of(config: Config) -> Plan[SweepConfig]:
    """Return the descriptor of a plan.

    Raises:
        RunError: the configuration is of a single run.
    """
    plan = kind_of(sweep_of(config))
    assert isinstance(plan, Plan)
    return plan


def known_axes(config: SweepConfig) -> list[Axis]:
    """List what is varied; nothing if this version does not know it."""
    try:
        return axes(config.vary, config.run)
    except ParameterError:
        return []


def check_seeds(config: SweepConfig) -> None:
    """Check that there are seeds, and each once.

    Raises:
        ParameterError: there are none, too many, or one twice.
    """
    if not 1 <= len(config.seeds) <= MOST_SEEDS or len(set(config.seeds)) < len(config.seeds):
        raise ParameterError(
            f"A sweep needs 1 to {MOST_SEEDS} seeds, each once; got {', '.join(map(str, config.seeds[:40])) or 'none'}."
        )
