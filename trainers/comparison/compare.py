"""Compares variants over seeds in one metric: a row per variant, a verdict per pair, condition by condition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trainers.comparison.estimate import (
    LEVEL,
    Cell,
    Condition,
    Estimate,
    PairedQueries,
    check,
    condition_key,
    estimate,
    holm,
    seeds_needed,
)

Verdict = Literal["above", "below", "could be chance", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One variant under a condition.

    Attributes:
        missing: seeds that other variants have a result of, and this one has not: its run failed or is not over.
    """

    variant: str
    estimate: Estimate
    missing: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class VariantPair:
    """Two variants under a condition.

    Attributes:
        difference: of the first minus the second, over the seeds that both have, seed by seed and query by query.
        adjusted: its p value after Holm's correction for every pair under the condition; NaN: unknown.
        verdict: of the first; a difference is seen where ``adjusted`` is below 0.05.
        needed: seeds that would probably show one of this size where it could be chance; None: unknown. See
            :func:`trainers.comparison.estimate.seeds_needed`.
    """

    first: str
    second: str
    difference: Estimate
    adjusted: float
    verdict: Verdict
    needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Every variant under one condition."""

    condition: Condition
    rows: tuple[Row, ...]
    pairs: tuple[VariantPair, ...]

    def leader(self, better: Literal["up", "down"]) -> str | None:
        """Return the variant that is better than every other one by a difference that is seen; None: there is none.

        A variant whose difference from another one is unknown does not lead, nor does one alone.
        """
        wanted: dict[str, Verdict] = {"up": "above", "down": "below"}
        for row in self.rows:
            won = [
                pair.verdict == wanted[better]
                if pair.first == row.variant
                else pair.verdict == wanted["down" if better == "up" else "up"]
                for pair in self.pairs
                if row.variant in (pair.first, pair.second)
            ]
            if won and all(won):
                return row.variant
        return None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The comparison in one metric under every condition, in the order of the cells."""

    metric: str
    groups: tuple[Group, ...]


def compare(cells: Sequence[Cell], metric: str) -> Comparison:
    """Compare the variants of ``cells`` in one metric, within each condition. See ``docs/statistics.md``.

    A run without the metric, or whose value is not finite, is missing; it is named and the others are compared.

    Raises:
        UserError: two cells have the same variant, condition and seed, or results per query are of several arms.
    """
    check(cells)
    grouped: dict[object, list[Cell]] = {}
    for cell in cells:
        grouped.setdefault(condition_key(cell.condition), []).append(cell)
    return Comparison(metric=metric, groups=tuple(_group(some, metric) for some in grouped.values()))


def _group(cells: Sequence[Cell], metric: str) -> Group:
    values: dict[str, dict[int, float]] = {cell.variant: {} for cell in cells}
    for cell in sorted(cells, key=lambda cell: cell.seed):
        if (value := cell.value(metric)) is not None:
            values[cell.variant][cell.seed] = value
    seeds = sorted(set().union(*values.values()))
    queries = PairedQueries.of(cells, metric)
    rows = tuple(
        Row(
            variant=variant,
            estimate=_estimate(by_seed, queries, variant),
            missing=tuple(seed for seed in seeds if seed not in by_seed),
        )
        for variant, by_seed in values.items()
    )
    pairs = [_pair(first, second, values, queries) for first, second in itertools.combinations(values, 2)]
    adjusted = holm([pair.difference.p_value for pair in pairs])
    return Group(
        condition=cells[0].condition,
        rows=rows,
        pairs=tuple(_judged(pair, p, len(pairs)) for pair, p in zip(pairs, adjusted, strict=True)),
    )


def _estimate(values: Mapping[int, float], queries: PairedQueries, first: str, second: str | None = None) -> Estimate:
    seeds = tuple(values)
    classes = queries.classes(seeds, first, second)
    return estimate(np.array(list(values.values())), seeds, classes, apart=queries.apart)


def _pair(first: str, second: str, values: Mapping[str, Mapping[int, float]], queries: PairedQueries) -> VariantPair:
    results, others = values[first], values[second]
    differences = {seed: results[seed] - others[seed] for seed in results if seed in others}
    difference = _estimate(differences, queries, first, second)
    if not differences:
        difference = replace(difference, covers="No seed has a result of both.")
    return VariantPair(first=first, second=second, difference=difference, adjusted=math.nan, verdict="unknown")


def _judged(pair: VariantPair, adjusted: float, pairs: int) -> VariantPair:
    if math.isnan(adjusted):
        return pair
    difference = pair.difference
    if adjusted < 1 - LEVEL:
        return replace(pair, adjusted=adjusted, verdict="above" if difference.mean > 0 else "below")
    known = difference.uncertainty
    needed = None if known is None or difference.mean == 0 else seeds_needed(difference.mean, known, pairs)
    return replace(pair, adjusted=adjusted, verdict="could be chance", needed=needed)
