"""A made-up sweep: its runs lie in its folder's place as they would after training, with numbers drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.synthetic import labels_of, write_probe
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans.children import Children, total
from trainers.plans.config import SweepConfig
from trainers.plans.planned import PlannedRun
from trainers.runs import RunFolder
from trainers.runs.folder import id_within
from trainers.runs.records import QueryScores, RunState, Scalar

METRICS = ("R_at_1", "AP_at_R", "HAP")
POINTS = 240
LOST = "The loss became infinite at step 7; lower the learning rate."


def sweep(*losses: str, seeds: int = 3, **changes: object) -> SweepConfig:
    """A sweep of some losses."""
    run = MetricLearningConfig(losses=tuple(Choice(name=name) for name in losses), probe_size=POINTS)
    return SweepConfig(run=run, seeds=tuple(range(seeds)), **changes)  # type: ignore[arg-type]


def make_plan(
    root: Path,
    config: SweepConfig,
    phase: str = "finished",
    stand: Callable[[PlannedRun], str] = lambda _planned: "finished",
    gains: Mapping[str, float] | None = None,
) -> RunFolder:
    """Write a sweep and its runs under ``root``.

    Args:
        stand: the phase of each planned run; ``planned``: it has no folder yet.
        gains: what is added to the metrics of a variant, by its title.
    """
    plan = RunFolder.create(root, config)
    make_runs(plan, stand, gains)
    plan.db.set_state(replace(total(Children(plan).all()), phase=phase))
    return plan


def make_runs(
    plan: RunFolder,
    stand: Callable[[PlannedRun], str] = lambda _planned: "finished",
    gains: Mapping[str, float] | None = None,
) -> None:
    """Write the runs of a plan that are not there yet; see :func:`make_plan`."""
    children = Children(plan)
    while fresh := [c.planned for c in children.all() if c.phase == "planned" and stand(c.planned) != "planned"]:
        for planned in fresh:
            _make_run(plan.path.parent, plan.id, planned, stand(planned), gains or {})


def _make_run(root: Path, plan: str, planned: PlannedRun, phase: str, gains: Mapping[str, float]) -> None:
    run = RunFolder.create(
        root, planned.config, run_id=id_within(plan, planned.name), part_of=plan, place_in_plan=planned.title
    )
    if phase == "finished":
        write_probe(run, POINTS)
        scores = _scores(planned, gains)
        run.write_queries(scores)
        run.db.add_metrics(_means(scores))
    error = LOST if phase == "failed" else None
    run.db.set_state(RunState(phase=phase, step=20, seconds=4.0, planned_steps=20, error=error))
    run.db.close()


def _scores(planned: PlannedRun, gains: Mapping[str, float]) -> QueryScores:
    """Numbers of every query: effects of its class and of the seed that all variants share, and noise of their own."""
    draws = np.random.default_rng([planned.seed, len(planned.condition)])
    labels = labels_of(POINTS)[:, 0]
    classes = np.random.default_rng(0).normal(0, 0.05, labels.max() + 1)[labels]
    varied = sum(value for value in planned.condition.values() if isinstance(value, float))
    shared = draws.normal(0, 0.01, len(METRICS))
    values = [
        mean + classes + shared[at] + gains.get(variant.title, 0.0) - 0.4 * varied + draws.normal(0, 0.02, POINTS)
        for variant in planned.variants
        for at, mean in enumerate((0.62, 0.41, 0.55))
    ]
    return QueryScores(
        metrics=METRICS,
        values=np.clip(values, 0, 1).reshape(len(planned.variants), len(METRICS), POINTS).astype(np.float32),
        labels=labels,
        rows=np.arange(POINTS),
        images=POINTS,
        fingerprint="made up",
    )


def _means(scores: QueryScores) -> list[Scalar]:
    means = scores.values.mean(-1)
    return [
        Scalar(arm=arm, step=20, seconds=4.0, key=f"test/{key}", value=float(means[arm, at]))
        for arm in range(len(means))
        for at, key in enumerate(METRICS)
    ]


class AtOnce:
    """An executor whose runs have ended when they are launched; ``free`` and ``launch`` are those of a subclass."""

    def holds(self, run_id: str) -> bool:
        return False

    def reap(self) -> tuple[()]:
        return ()

    def kill(self, run_id: str) -> None: ...

    def close(self) -> None: ...
