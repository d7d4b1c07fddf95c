"""The numbers of a claim from the runs of its plan, and the rule that makes a verdict of them, fixed before there were
any: each difference seed by seed, judged against 0. Its statistics are those of ``trainers.comparison``.

A difference with the 95 % interval [low, high] and the margin m is, where the first side is claimed to be

- ``larger``: seen if low > m, opposite if high < -m;
- ``equal``: seen if -m < low and high < m, opposite if low > m or high < -m;
- ``held``: seen if low > -m, opposite if high < -m.

Otherwise it is not seen. A claim is *seen* if every one of its differences is; the *opposite* is seen if one difference
is opposite by the interval whose error is 5 % over the number of differences. Below :data:`LEAST_SEEDS` seeds with
results on every side nothing is seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trainers.claims.base import Claim, Difference, Expected, Side
from trainers.comparison import Cell, compare, condition_key
from trainers.comparison.estimate import LEVEL, POWER, Estimate, shown
from trainers.runs.records import QueryScores

LEAST_SEEDS = 3
SEEN, NOT_SEEN, OPPOSITE = "seen", "not seen at this scale", "opposite seen"
LACKING, NOT_RUN = "needs data or weights not at hand", "not run yet"
VERDICTS = (SEEN, NOT_SEEN, OPPOSITE, LACKING, NOT_RUN)


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers of a difference that the rule reads, all in the metric's unit; NaN: unknown.

    Attributes:
        low, high: the 95 % interval of the mean.
        wide_low, wide_high: the interval whose error is shared by all differences of the claim.
        least: the smallest true difference that these seeds would have shown with a chance of 80 %, beyond the margin
            where the claim is of one; where it is of none, the smallest margin.
        seeds: with results on every side.
    """

    mean: float
    low: float
    high: float
    wide_low: float
    wide_high: float
    least: float
    seeds: int


def numbers(estimate: Estimate, difference: Difference, parts: int) -> Numbers:
    """Read the numbers of the rule from an estimate.

    Args:
        parts: how many differences decide the claim.
    """
    known, nan = estimate.uncertainty, math.nan
    half = nan if known is None or not estimate.known else known.half_width((1 - LEVEL) / parts)
    chance = (1 + POWER) / 2 if difference.expected == "equal" else POWER  # both ends must stay within the margin
    least = nan if known is None else shown(known, chance)
    return Numbers(
        mean=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        wide_low=estimate.mean - half,
        wide_high=estimate.mean + half,
        least=least + difference.margin if difference.expected == "larger" else least,
        seeds=len(estimate.seeds),
    )


def judge(measured: Numbers, expected: Expected, margin: float) -> str:
    """Return the verdict on one difference: :data:`SEEN`, :data:`NOT_SEEN` or :data:`OPPOSITE`."""
    if measured.seeds < LEAST_SEEDS:
        return NOT_SEEN
    if {
        "larger": measured.low > margin,
        "equal": measured.low > -margin and measured.high < margin,
        "held": measured.low > -margin,
    }[expected]:
        return SEEN
    above = expected == "equal" and measured.wide_low > margin
    return OPPOSITE if above or measured.wide_high < -margin else NOT_SEEN


def verdict(measured: Sequence[Numbers], differences: Sequence[Difference]) -> str:
    """Return the verdict on a claim from the numbers of its differences."""
    verdicts = [
        judge(judged, difference.expected, difference.margin)
        for judged, difference in zip(measured, differences, strict=True)
    ]
    if OPPOSITE in verdicts:
        return OPPOSITE
    return SEEN if verdicts and all(judged == SEEN for judged in verdicts) else NOT_SEEN


@dataclass(frozen=True, kw_only=True)
class SideNumbers:
    """The results of one side over the seeds: mean with its 95 % interval, and the value of each seed."""

    title: str
    mean: float
    low: float
    high: float
    values: Mapping[int, float]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One difference as it was measured, with its sides."""

    title: str
    metric: str
    sides: tuple[SideNumbers, ...]
    numbers: Numbers
    covers: str


def measure(claim: Claim, cells: Sequence[Cell]) -> tuple[Measured, ...]:
    """Measure every difference of a claim from the results of its runs."""
    return tuple(_measured(difference, cells, len(claim.differences)) for difference in claim.differences)


def _measured(difference: Difference, cells: Sequence[Cell], parts: int) -> Measured:
    of_side = [_of(side, cells) for side in difference.sides]
    combined = _combined(difference, of_side)
    estimate = _alone(combined, difference.metric)
    pairs = zip(difference.sides, of_side, strict=True)
    return Measured(
        title=difference.title,
        metric=difference.metric,
        sides=tuple(_arm(side, by_seed, difference.metric) for side, by_seed in pairs),
        numbers=numbers(estimate, difference, parts),
        covers=estimate.covers,
    )


def _of(side: Side, cells: Sequence[Cell]) -> dict[int, Cell]:
    """Return the results of one side by seed."""
    under: Mapping[str, Any] = side.under
    key = condition_key(under)
    return {cell.seed: cell for cell in cells if cell.variant == side.arm and condition_key(cell.condition) == key}


def _arm(side: Side, by_seed: Mapping[int, Cell], metric: str) -> SideNumbers:
    alone = _alone([replace(cell, condition={}) for cell in by_seed.values()], metric)
    values = {seed: value for seed, cell in by_seed.items() if (value := cell.value(metric)) is not None}
    return SideNumbers(title=side.title, mean=alone.mean, low=alone.low, high=alone.high, values=values)


def _alone(cells: Sequence[Cell], metric: str) -> Estimate:
    if not cells:
        cells = [Cell(variant="none", condition={}, seed=0, metrics={})]
    return compare(cells, metric).groups[0].rows[0].estimate


def _combined(difference: Difference, of_side: Sequence[Mapping[int, Cell]]) -> list[Cell]:
    """Return a result per seed that every side has; of a relative difference without queries."""
    combined, metric = [], difference.metric
    for seed in sorted(set.intersection(*(set(of_seed) for of_seed in of_side))):
        of_seed = [cells[seed] for cells in of_side]
        known = [value for cell in of_seed if (value := cell.value(metric)) is not None]
        total = difference.of(known) if len(known) == len(of_seed) else None
        if total is None:
            continue
        queries = None if difference.relative else _queries(difference, [cell.queries for cell in of_seed])
        metrics = {metric: float(total)}
        combined.append(Cell(variant=difference.title, condition={}, seed=seed, metrics=metrics, queries=queries))
    return combined


def _queries(difference: Difference, every: Sequence[QueryScores | None]) -> QueryScores | None:
    """Return the difference query by query; None where a side has none, or of other test images."""
    metric = difference.metric
    known = [scores for scores in every if scores is not None and metric in scores.metrics]
    if len(known) < len(every):
        return None
    first = known[0]
    if any(each.fingerprint != first.fingerprint or not np.array_equal(each.rows, first.rows) for each in known):
        return None
    rows = [np.asarray(each.values[0, each.metrics.index(metric)], dtype=np.float64) for each in known]
    total = np.asarray(difference.of(rows), dtype=np.float32)
    return replace(first, metrics=(metric,), values=total[None, None])
