"""The numbers of runs while they train, over their seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.page.words import brief
from explorer.tabs.compare.shown import Shown
from trainers.cells import csv_text
from trainers.errors import RunError
from trainers.kinds import kind_of
from trainers.runs import RunFolder

MOST = 300
"""Points of a curve."""
Points = Mapping[int, list[tuple[int, float]]]
"""Steps and values in one metric, by arm."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A loss while it trains.

    Attributes:
        steps: int ``[S]``; at each the ``mean`` over the seeds that got there, the ``low``est and the ``high``est of
            them, float64 ``[S]``, and how many ``seeds`` these are.
    """

    title: str
    color: int
    seeds: list[int]
    steps: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]


def metrics_of(plan: RunFolder, shown: Shown) -> dict[str, str]:
    """Return titles of the numbers that change while the runs of a plan train, by key, the main ones first."""
    single = plan.config.single
    kind = kind_of(single)
    measures, first = kind.measures_of(single), list(kind.headline(single))
    begun = [child for child in shown.children if child.phase != "planned"]
    keys = {key for child in begun[:1] for key in _keys(plan, child.id)}
    told = {key: measures.describe(key) for key in sorted(keys, key=measures.order)}
    order = sorted(told, key=lambda key: first.index(key) if key in first else len(first))
    return {key: told[key].title for key in order if told[key].is_curve}


def curves_of(plan: RunFolder, shown: Shown, key: str) -> list[Curve]:
    """Return a curve per row under the condition that is shown, of what is there yet."""
    ids = {child.id for row in shown.here() for child, _ in row.runs}
    read = {run_id: _points(plan, run_id, key) for run_id in ids}
    made = []
    for row in shown.here():
        runs = [points for child, arm in row.runs if (points := _finite(read[child.id].get(arm, [])))]
        if runs:
            made.append(_over_seeds(brief(row.variant.title, 120), row.variant.color, runs))
    return made


def csv(curves: Sequence[Curve], key: str) -> str:
    """Write the curves as CSV."""
    rows = [
        [curve.title, *numbers]
        for curve in curves
        for numbers in zip(curve.steps, curve.mean, curve.low, curve.high, curve.seeds, strict=True)
    ]
    return csv_text(["loss", "step", key, "lowest seed", "highest seed", "seeds"], rows)


def _over_seeds(title: str, color: int, runs: Sequence[Sequence[tuple[int, float]]]) -> Curve:
    """Put runs together at the steps at which any of them was measured; between its own a run lies on its line."""
    steps = np.unique([step for run in runs for step, _ in run])
    steps = steps[np.linspace(0, len(steps) - 1, MOST).round().astype(int)] if len(steps) > MOST else steps
    every = []
    for run in runs:
        at, values = np.array(run, dtype=float).T
        every.append(np.interp(steps, at, values, left=np.nan, right=np.nan))
    stacked = np.array(every)
    steps, stacked = steps[~np.isnan(stacked).all(0)], stacked[:, ~np.isnan(stacked).all(0)]
    found = [statistic(stacked, axis=0).tolist() for statistic in (np.nanmean, np.nanmin, np.nanmax)]
    mean, low, high = found
    seeds = (~np.isnan(stacked)).sum(0).tolist()
    return Curve(title=title, color=color, seeds=seeds, steps=steps.tolist(), mean=mean, low=low, high=high)


def _finite(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(step, value) for step, value in points if math.isfinite(value)]


def _keys(plan: RunFolder, run_id: str) -> list[str]:
    run = plan.beside(run_id)
    try:
        return run.keys()
    except RunError:  # not there yet
        return []
    finally:
        run.db.close()


def _points(plan: RunFolder, run_id: str, key: str) -> Points:
    run = plan.beside(run_id)
    try:
        return run.curves(key)
    except RunError:
        return {}
    finally:
        run.db.close()
