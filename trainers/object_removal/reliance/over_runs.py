"""Measurements of several trainings compared by :mod:`trainers.comparison`: arms, and what a change of training did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trainers.comparison import Cell, ComparisonTable, table
from trainers.errors import UserError
from trainers.metrics.names import Described
from trainers.object_removal.reliance.queries import WHOLE
from trainers.object_removal.reliance.results import (
    CONTRASTS,
    METRICS,
    MISSED,
    STAYS,
    ArmBackground,
    BackgroundResult,
    described,
    measures_of,
    title_of,
)
from trainers.runs.records import QueryScores


@dataclass(frozen=True, kw_only=True)
class TitledTable:
    """A table with a title."""

    title: str
    table: ComparisonTable


def over_runs(results: Sequence[BackgroundResult], others: Sequence[BackgroundResult] = ()) -> list[TitledTable]:
    """Compare the arms of runs that differ in their seed: forms and contrasts.

    Neighbours that stay are given without verdicts: they follow how well an embedding is ordered. The contrasts correct
    for it, as each is of one embedding.

    Args:
        others: runs of the same seeds that were trained otherwise: what is compared is the change from them, query by
            query, so that a pair of arms is a difference of differences; or none.

    Raises:
        UserError: the runs have other arms, seeds or queries, or an arm could not be measured.
    """
    pairs = _paired(results, others)
    first, depth = results[0], len(results[0].levels)
    names = first.arms[0].names
    forms, contrasts = ([name for name in names if (name in CONTRASTS) == wanted] for wanted in (False, True))
    changed = "change of " if others else ""

    def part(title: str, names: list[str], measures: Sequence[str], tested: bool = True) -> TitledTable:
        cells = [
            _cell(result, arm, None if other is None else other.arms[number], name, measures)
            for name in names
            for result, other in pairs
            for number, arm in enumerate(result.arms)
        ]
        judged = bool(others) or all(name in CONTRASTS for name in names)
        words = [_words(measure, changed, judged) for measure in measures]
        return TitledTable(title=title, table=table(cells, words, told=None if tested else (), zero=judged))

    return [
        part(f"{changed}each form of the queries", forms, measures_of(WHOLE, depth)),
        part(f"{changed}what a form loses beyond its control", contrasts, (*METRICS, STAYS)),
        part(
            f"{changed}the neighbours that stay, which compare no losses",
            [name for name in forms if STAYS in measures_of(name, depth)],
            (STAYS,),
            tested=False,
        ),
    ]


def text(parts: Sequence[TitledTable]) -> str:
    """Write the parts as Markdown, for a terminal or a document."""
    shown = [f"**{part.title[:1].upper()}{part.title[1:]}**\n\n{part.table.markdown()}" for part in parts]
    return "\n".join(shown).rstrip()


def _words(measure: str, changed: str, judged: bool) -> Described:
    """Describe a measure as the head of a column; a difference has no better direction."""
    description = described(measure)
    if not judged:
        return description
    plain = replace(description.measure, better="")
    return replace(description, measure=plain, title=f"{changed}{description.title}")


_Pairs = list[tuple[BackgroundResult, BackgroundResult | None]]


def _paired(results: Sequence[BackgroundResult], others: Sequence[BackgroundResult]) -> _Pairs:
    """Pair each run with the other one of its seed, if there are others."""
    first = [(arm.title, list(arm.scores)) for arm in results[0].arms]
    for result in (*results, *others):
        for arm in result.arms:
            if arm.error is not None:
                raise UserError(f"{arm.title} of run {arm.run} could not be measured: {arm.error}")
        if [(arm.title, list(arm.scores)) for arm in result.arms] != first:
            raise UserError("These runs have other losses. Choose runs of the same losses on the same kind of images.")
    if not others:
        return [(result, None) for result in results]
    by_seed = {other.seed: other for other in others}
    seeds, before = sorted(result.seed for result in results), sorted(other.seed for other in others)
    if seeds != before:
        raise UserError(f"Runs to compare with of the same seeds were needed: {seeds}; got {before}.")
    pairs: _Pairs = [(result, by_seed[result.seed]) for result in results]
    if any(other is not None and other.key != result.key for result, other in pairs):
        raise UserError("The runs to compare with were measured on other queries. Choose runs on the same images.")
    return pairs


def _cell(
    result: BackgroundResult,
    arm: ArmBackground,
    before: ArmBackground | None,
    name: str,
    measures: Sequence[str],
) -> Cell:
    """Make the cell of one arm of one run; of :data:`MISSED` the mean alone, as its queries differ by run."""
    there = measures_of(name, len(result.levels))
    means, kept = {}, {}
    for measure in (measure for measure in measures if measure in there):
        after = arm.values(name, measure)
        old = None if before is None else before.values(name, measure)
        if measure == MISSED:
            means[measure] = _mean(after) - (0.0 if old is None else _mean(old))
            continue
        values = after if old is None else after - old
        means[measure], kept[measure] = _mean(values), values
    return Cell(
        variant=arm.title,
        condition={"queries": title_of(name)},
        seed=result.seed,
        metrics=means,
        queries=QueryScores(
            metrics=tuple(kept),
            values=np.stack(list(kept.values()))[None],
            labels=result.labels[result.indices, 0],
            rows=result.indices,
            images=len(result.indices),
            fingerprint=result.key,
        ),
    )


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
