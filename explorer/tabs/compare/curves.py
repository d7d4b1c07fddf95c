"""The numbers of runs while they train, over their seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from explorer.page.words import brief
from explorer.tabs.compare.shown import Shown
from trainers.cells import csv_text
from trainers.data.lru_cache import Cache, CostLimit
from trainers.errors import RunError
from trainers.kinds import kind_of
from trainers.runs import RunFolder
from trainers.runs.database import written

T = TypeVar("T")
MOST = 300
"""Points of a curve."""
_ENTRY = 1000
"""Bytes of what is kept of a run without any number."""
Points = Mapping[int, np.ndarray]
"""Steps and finite values in one metric, float64 ``[2, S]``, by arm."""


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


class Curves:
    """Curves for many viewers: a run is read once, and again when something was written to it.

    Args:
        room: bounds the bytes that are kept, with other things that could be read again.
    """

    def __init__(self, room: CostLimit) -> None:
        self._keys: Cache[list[str]] = Cache(limit=room, cost=lambda keys: _ENTRY + sum(map(len, keys)))
        self._points: Cache[Points] = Cache(limit=room, cost=_bytes)

    def metrics_of(self, plan: RunFolder, shown: Shown) -> dict[str, str]:
        """Return titles of the numbers that change while the runs of a plan train, by key, the main ones first."""
        single = plan.config.single
        kind = kind_of(single)
        measures, first = kind.measures_of(single), list(kind.headline(single))
        begun = [child.id for child in shown.children if child.phase != "planned"]
        keys = {key for run_id in begun[:1] for key in self._keys_of(plan.beside(run_id))}
        told = {key: measures.describe(key) for key in sorted(keys, key=measures.order)}
        order = sorted(told, key=lambda key: first.index(key) if key in first else len(first))
        return {key: told[key].title for key in order if told[key].is_curve}

    def of(self, plan: RunFolder, shown: Shown, key: str) -> list[Curve]:
        """Return a curve per row under the condition that is shown, of what is there yet."""
        ids = {child.id for row in shown.here() for child, _ in row.runs}
        read = {run_id: self._points_of(plan.beside(run_id), key) for run_id in ids}
        made = []
        for row in shown.here():
            runs = [read[child.id][arm] for child, arm in row.runs if arm in read[child.id]]
            if runs:
                made.append(_over_seeds(brief(row.variant.title, 120), row.variant.color, runs))
        return made

    def _keys_of(self, run: RunFolder) -> list[str]:
        try:
            return self._keys.get(_version(run), lambda: _closing(run, run.keys))
        except RunError:  # not there yet
            return []

    def _points_of(self, run: RunFolder, key: str) -> Points:
        try:
            return self._points.get((*_version(run), key), lambda: _finite(_closing(run, lambda: run.curves(key))))
        except RunError:
            return {}


def csv(curves: Sequence[Curve], key: str) -> str:
    """Write the curves as CSV."""
    rows = [
        [curve.title, *numbers]
        for curve in curves
        for numbers in zip(curve.steps, curve.mean, curve.low, curve.high, curve.seeds, strict=True)
    ]
    return csv_text(["loss", "step", key, "lowest seed", "highest seed", "seeds"], rows)


def _over_seeds(title: str, color: int, runs: Sequence[np.ndarray]) -> Curve:
    """Put runs together at the steps at which any of them was measured; between its own a run lies on its line."""
    steps = np.unique(np.concatenate([at for at, _ in runs]).astype(int))
    steps = steps[np.linspace(0, len(steps) - 1, MOST).round().astype(int)] if len(steps) > MOST else steps
    stacked = np.array([np.interp(steps, at, values, left=np.nan, right=np.nan) for at, values in runs])
    steps, stacked = steps[~np.isnan(stacked).all(0)], stacked[:, ~np.isnan(stacked).all(0)]
    found = [statistic(stacked, axis=0).tolist() for statistic in (np.nanmean, np.nanmin, np.nanmax)]
    mean, low, high = found
    seeds = (~np.isnan(stacked)).sum(0).tolist()
    return Curve(title=title, color=color, seeds=seeds, steps=steps.tolist(), mean=mean, low=low, high=high)


def _version(run: RunFolder) -> tuple[object, ...]:
    """Return what differs when something was written to a run."""
    return run.path, written(run.path)


def _closing(run: RunFolder, read: Callable[[], T]) -> T:
    try:
        return read()
    finally:
        run.db.close()


def _finite(curves: Mapping[int, list[tuple[int, float]]]) -> Points:
    """Drop what is not finite, and arms of which nothing is left."""
    arrays = {arm: np.array(points, dtype=float).T for arm, points in curves.items()}
    finite = {arm: points[:, np.isfinite(points[1])] for arm, points in arrays.items()}
    return {arm: points for arm, points in finite.items() if points.size}


def _bytes(points: Points) -> int:
    return _ENTRY + sum(of_arm.nbytes for of_arm in points.values())
