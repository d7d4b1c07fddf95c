"""Sweeps: the arms of a run over seeds, settings and parameters, as one job of paired runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainers.config import MAX_ARMS, PLAN_VERBS, RunConfig
from trainers.errors import ParameterError
from trainers.kinds import kind_of
from trainers.kinds.arm_view import written
from trainers.plans.axes import Axis, axes, conditions, counts, variants
from trainers.plans.base import Plan
from trainers.plans.config import MOST_RUNS, S, SweepConfig
from trainers.plans.planned import Outcomes, PlannedRun, Variant

if TYPE_CHECKING:
    from trainers.runs import RunFolder
    from trainers.training.trainer import Trainer


class RunnablePlan(Plan[S]):
    """See :class:`trainers.plans.base.Plan`. The modules that train and report are imported when they are needed."""

    def loop(self) -> type[Trainer]:
        from trainers.plans.runner import PlanRunner

        return PlanRunner

    def result(self, config: S, folder: RunFolder) -> str:
        """Write the tables and the verdicts, in Markdown."""
        from trainers.plans.report import report

        return report(folder).markdown()

    def parts_of(self, folder: RunFolder) -> Iterator[RunFolder]:
        """Return the runs of the plan, which lie beside it."""
        from trainers.plans.children import children_of

        return children_of(folder)


class Sweep(RunnablePlan[SweepConfig]):
    """See the module."""

    name = SweepConfig.kind
    title = "Sweep"
    verb = PLAN_VERBS[SweepConfig.kind]
    sentence = "Train what is compared over several seeds, and over values of settings."
    order = 10
    config = SweepConfig

    def plan(self, config: SweepConfig, outcomes: Outcomes) -> Sequence[PlannedRun]:
        """Plan one run per seed and condition, with as many arms in lockstep as a run takes.

        If a run of several arms has failed, each of its arms is trained alone: one that diverges ends them all.
        """
        planned: list[PlannedRun] = []
        for run in paired_runs(config):
            planned.append(run)
            outcome = outcomes.get(run.name)
            failed = outcome is not None and not outcome.finished and not outcome.stopped
            if failed and len(run.variants) > 1:
                planned += _alone(run)
        return planned

    def first_runs(self, config: SweepConfig) -> Sequence[PlannedRun]:
        """List those of the first seed."""
        planned = self.plan(config, {})
        return planned[: len(planned) // len(config.seeds)]


def paired_runs(config: SweepConfig) -> list[PlannedRun]:
    """Plan a run per condition, seed and group of at most :data:`trainers.config.MAX_ARMS` arms.

    Raises:
        ParameterError: there are too many, or what is varied cannot be.
    """
    varied = axes(config.vary, config.run)
    under, compared = counts(varied, config.run)
    runs = len(config.seeds) * under * math.ceil(compared / MAX_ARMS)
    if runs > MOST_RUNS:  # counted before any is made: there may be billions
        raise ParameterError(f"A sweep has at most {MOST_RUNS} runs; this one would have {runs:,}. Vary fewer values.")
    settings = [axis for axis in varied if axis.path]
    groups = list(_groups(config.run, varied))
    planned = []
    for seed in config.seeds:
        for condition, changed in conditions(config.run, settings):
            names = [f"{axis.name}={condition[axis.title]}" for axis in settings]
            values = [f"{title.lower()} {written(value)}" for title, value in condition.items()]
            for index, group in enumerate(groups):
                planned.append(
                    PlannedRun(
                        name=",".join([f"seed={seed}", *names, f"group={index}"]),
                        title=", ".join([f"seed {seed}", *values, *group.words]),
                        config=group.of(changed).changed(seed=seed),
                        condition=condition,
                        seed=seed,
                        variants=group.variants,
                    )
                )
    return planned


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Arms that are trained in lockstep: as settings (none where the kind has no list of them), and in words."""

    arms: Sequence[Any]
    variants: tuple[Variant, ...]
    words: Sequence[str] = ()

    def of(self, run: RunConfig) -> RunConfig:
        """Return the run with these arms."""
        return kind_of(run).with_arms(run, self.arms) if self.arms else run


def _groups(run: RunConfig, varied: Sequence[Axis]) -> Iterator[_Group]:
    kind = kind_of(run)
    arms, compared = variants(run, varied)
    if len(compared) > MAX_ARMS and not kind.divisible(run):
        raise ParameterError(
            f"With these settings the {kind.compares} can only be trained together, at most {MAX_ARMS} in a run; with "
            f"what is varied there are {len(compared)}. Vary fewer values."
        )
    for first in range(0, len(compared), MAX_ARMS):
        part = slice(first, first + MAX_ARMS)
        words = [f"{kind.compares} {first + 1} to {first + len(compared[part])}"] if len(compared) > MAX_ARMS else []
        yield _Group(arms=arms[part], variants=tuple(compared[part]), words=words)


def _alone(planned: PlannedRun) -> Iterator[PlannedRun]:
    """Plan a run per arm, for a run whose arms cannot be trained together: one that diverges ends them all."""
    kind = kind_of(planned.config)
    listed = kind.listed(planned.config)
    if not listed or not kind.divisible(planned.config):
        return
    for arm, variant in enumerate(planned.variants):
        yield dataclasses.replace(
            planned,
            name=f"{planned.name},arm={arm}",
            title=f"{planned.title}, {variant.title} alone",
            config=kind.with_arms(planned.config, [listed[arm]]),
            variants=(variant,),
        )


DESCRIPTOR = Sweep()
