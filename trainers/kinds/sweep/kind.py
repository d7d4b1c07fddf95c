"""Sweeps: the losses of a metric-learning run over seeds, settings and parameters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from trainers.config import MAX_ARMS, RunConfig, converted
from trainers.data.base import Progress, part_of
from trainers.errors import ParameterError, UserError
from trainers.kinds.ablation import written
from trainers.kinds.base import Preset
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.kind import MetricLearning
from trainers.kinds.sweep.config import MOST_RUNS, MOST_SEEDS, SweepConfig
from trainers.plans.planned import Outcomes, PlannedRun, split

if TYPE_CHECKING:
    from trainers.runs import RunFolder
    from trainers.training.trainer import Trainer


class Sweep(MetricLearning):
    """See the module."""

    name = "sweep"
    title = "Sweep"
    verb = "sweep"
    sentence = "Train the same losses over several seeds, and over values of settings, and compare them."
    order = 10
    plans = True
    parts: ClassVar[Mapping[str, str]] = MappingProxyType({"": "Results"})
    config: ClassVar[type[RunConfig]] = SweepConfig
    main = ("seeds", "vary", "minutes")
    more = (*(name for name in MetricLearning.more if name != "seed"), "parallel")

    def loop(self) -> type[Trainer]:
        from trainers.plans.coordinator import Coordinator

        return Coordinator

    def check(self, config: SweepConfig) -> None:
        """Check the seeds and what is varied, and every run that is planned."""
        from trainers.kinds import check as check_run

        check_seeds(config)
        planned = self.plan(config, {})
        for one in planned[: len(planned) // len(config.seeds)]:  # the seeds make no difference here
            check_run(one.config)

    def rehearse(self, config: SweepConfig, root: Path, progress: Progress) -> list[str]:
        """Rehearse every run that is planned, once for all seeds."""
        planned = self.plan(config, {})
        return rehearse_runs(planned[: len(planned) // len(config.seeds)], root, progress)

    def advice(self, config: SweepConfig) -> list[str]:
        """As of its runs, which may have other settings, each sentence once."""
        planned = self.plan(config, {})
        of_runs = (super(Sweep, self).advice(one.config) for one in planned)
        return list(dict.fromkeys(sentence for sentences in of_runs for sentence in sentences))

    def plan(self, config: SweepConfig, outcomes: Outcomes) -> Sequence[PlannedRun]:
        """One run per seed and condition, with as many losses in lockstep as a run takes.

        If a run of several losses has failed, each of its losses is trained alone: one that diverges ends them all.
        """
        planned: list[PlannedRun] = []
        for one in paired_runs(config):
            planned.append(one)
            outcome = outcomes.get(one.name)
            failed = outcome is not None and not outcome.finished and not outcome.stopped
            if failed and len(one.variants) > 1:
                planned += split(one, alone)
        return planned

    def result(self, folder: RunFolder) -> str:
        """The table and the verdicts, in Markdown."""
        from trainers.plans.report import report

        return report(folder).markdown()

    def presets(self) -> Sequence[Preset]:
        """None: those of a single run say nothing of what to vary."""
        return ()

    def run_title(self, config: SweepConfig, data: str) -> str:
        """The losses, what is varied, and the images."""
        varied = "".join(f", over {axis.title.lower()}" for axis in _axes(config))
        return f"{super().run_title(config, data)}{varied}, {self.seeds(config)}"

    def details(self, config: SweepConfig) -> list[str]:
        """What is varied, then as of every run."""
        values = [f"{axis.title.lower()} {', '.join(map(written, axis.values))}" for axis in _axes(config)]
        return [*values, *super().details(config)]

    def seeds(self, config: SweepConfig) -> str:
        """How many there are."""
        return _seeds(config)

    def sizes(self, config: SweepConfig) -> Mapping[str, int]:
        """The largest of its runs, and how many there are."""
        planned = self.plan(config, {})
        each = [super(Sweep, self).sizes(one.config) for one in planned]
        return {name: max(sizes[name] for sizes in each) for name in each[0]} | {"runs": len(planned)}

    def memory(self, config: SweepConfig) -> Any:
        """Of its largest run."""
        return max((super(Sweep, self).memory(one.config) for one in self.plan(config, {})), key=lambda one: one.total)


def rehearse_runs(planned: Sequence[PlannedRun], root: Path, progress: Progress) -> list[str]:
    """Rehearse runs of a plan; what is to be said of them, each sentence once.

    Raises:
        UserError: one cannot be trained; with which one it is.
    """
    from trainers.kinds import kind_of

    said: dict[str, None] = {}
    for number, one in enumerate(planned):
        kind, told = kind_of(one.config), part_of(progress, number / len(planned), (number + 1) / len(planned))
        try:
            said |= dict.fromkeys(kind.rehearse(one.config, root, told))
        except UserError as error:
            raise UserError(f"The runs that are planned cannot be trained. {error} ({one.title})") from error
    return list(said)


def check_seeds(config: SweepConfig) -> None:
    """Check that there are seeds, and each once.

    Raises:
        ParameterError: there are none, too many, or one twice.
    """
    if not 1 <= len(config.seeds) <= MOST_SEEDS or len(set(config.seeds)) < len(config.seeds):
        raise ParameterError(
            f"A sweep needs 1 to {MOST_SEEDS} seeds, each once; got {', '.join(map(str, config.seeds[:40])) or 'none'}."
        )


def paired_runs(config: SweepConfig, **changes: Any) -> list[PlannedRun]:
    """A planned run per condition, seed and group of at most :data:`trainers.config.MAX_ARMS` losses.

    Args:
        changes: settings of every run that replace those of the sweep.

    Raises:
        ParameterError: there are too many, or what is varied cannot be.
    """
    from trainers.kinds.sweep.axes import axes, conditions, counts, variants

    varied = axes(config.vary, config.losses)
    under, compared = counts(varied, config.losses)
    runs = len(config.seeds) * under * math.ceil(compared / MAX_ARMS)
    if runs > MOST_RUNS:  # counted before any is made: there may be billions
        raise ParameterError(f"A sweep has at most {MOST_RUNS} runs; this one would have {runs:,}. Vary fewer values.")
    arms = variants(config.losses, [axis for axis in varied if not axis.path])
    groups = [arms[first : first + MAX_ARMS] for first in range(0, len(arms), MAX_ARMS)]
    planned = []
    for seed in config.seeds:
        for condition, changed in conditions(run_config(config, **changes), [axis for axis in varied if axis.path]):
            for place, group in enumerate(groups):
                settings = [f"{axis.name}={condition[axis.title]}" for axis in varied if axis.path]
                values = [f"{title.lower()} {written(value)}" for title, value in condition.items()]
                part = [f"losses {place * MAX_ARMS + 1} to {place * MAX_ARMS + len(group)}"] if len(groups) > 1 else []
                planned.append(
                    PlannedRun(
                        name=",".join([f"seed={seed}", *settings, f"group={place}"]),
                        title=", ".join([f"seed {seed}", *values, *part]),
                        config=dataclasses.replace(changed, seed=seed, losses=tuple(choice for choice, _ in group)),
                        condition=condition,
                        seed=seed,
                        variants=tuple(variant for _, variant in group),
                    )
                )
    return planned


def run_config(config: SweepConfig, **changes: Any) -> MetricLearningConfig:
    """The settings of one of its runs, as far as the sweep does not vary them."""
    return converted(config, MetricLearningConfig, **changes)


def alone(config: MetricLearningConfig, arm: int) -> MetricLearningConfig:
    """The same run with one of its losses."""
    return dataclasses.replace(config, losses=(config.losses[arm],))


def _axes(config: SweepConfig) -> list[Any]:
    from trainers.kinds.sweep.axes import axes

    try:
        return axes(config.vary, config.losses)
    except ParameterError:  # of another version
        return []


def _seeds(config: SweepConfig) -> str:
    return f"seed {config.seeds[0]}" if len(config.seeds) == 1 else f"{len(config.seeds)} seeds"
