"""A part of a report as it is shown: its rows, and those of its metrics, conditions and axes that a visitor chose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trainers.comparison import Estimate, UntrainedLine, VariantPair
from trainers.comparison.tables import Line
from trainers.comparison.words import condition as group_words
from trainers.comparison.words import shown as value_words
from trainers.metrics.names import Described
from trainers.plans.planned import Child, PlanPart, Variant
from trainers.plans.report import Axis, Report, axes_of

DIFFERENT = ("above", "below")
"""Verdicts of a difference that is more than chance explains."""
LEVEL = ""
"""Place of a row on an axis along which its loss is not varied."""


class Asked(NamedTuple):
    """What a visitor chose; what is empty, or is not there, becomes the first one, and no metrics the main ones."""

    part: str = ""
    metric: str = ""
    under: str = ""
    metrics: Sequence[str] = ()
    axis: str = ""
    at: str = ""
    curve: str = ""


def asked_of(menus: Sequence[Any]) -> Asked:
    """Read what the menus of the page hold, in the order of the fields; a browser may send anything."""
    texts = [value if isinstance(value, str) else "" for value in menus]
    return Asked(*texts)._replace(metrics=[str(key) for key in menus[3] or ()] if len(menus) > 3 else ())


@dataclass(frozen=True, kw_only=True)
class Row:
    """A variant under a condition.

    Attributes:
        line: what the table has of it; None: nothing yet.
        runs: those that train it, each with its place among their losses.
    """

    variant: Variant
    condition: Mapping[str, Any]
    line: Line | None
    runs: list[tuple[Child, int]] = field(default_factory=list)

    def estimate(self, place: int) -> Estimate | None:
        """Return the number in a metric, by its place in the table; None: there is none."""
        estimate = None if self.line is None else self.line.estimates[place]
        return None if estimate is None or math.isnan(estimate.mean) else estimate

    def seeds(self, key: str) -> dict[int, tuple[float, Child]]:
        """Return value and run of every result in a metric, by seed."""
        found: dict[int, tuple[float, Child]] = {}
        for child, arm in self.runs:
            value = child.outcome.numbers[arm].get(key) if child.outcome and child.outcome.finished else None
            if value is not None and math.isfinite(value):
                found.setdefault(child.planned.seed, (value, child))
        return dict(sorted(found.items()))

    def on(self, axis: Axis) -> object:
        """Return its place on an axis."""
        return (self.variant.parameters if axis.of_losses else self.condition).get(axis.title, LEVEL)


@dataclass(frozen=True, kw_only=True)
class Over:
    """The rows along an axis.

    Attributes:
        axes: all that there are.
        places: on the other axes, at which there are rows, in words; ``at``: the one that is shown.
        lines: the rows there by loss, each in the order of the axis; first those not varied along it.
    """

    axis: Axis
    axes: Sequence[Axis]
    at: str
    places: Sequence[str]
    lines: Mapping[str, list[Row]]


class Shown:
    """A part of a report, and of it what was asked for.

    Attributes:
        described: the metrics of its table; ``metrics``: the places there of those that are shown, ``metric`` of the
            one that the verdicts are about.
        conditions: in words; ``under``: the one that is shown.
        over: the rows along what was varied; None: nothing was.
    """

    def __init__(self, report: Report, asked: Asked) -> None:
        self.report = report
        self.part = next((part for part in report.parts if part.name == asked.part), report.parts[0])
        self.children = [child for child in report.children if self.part.name in child.planned.parts]
        self.table = self.part.table
        self.described: tuple[Described, ...] = () if self.table is None else self.table.metrics
        keys = [metric.key for metric in self.described]
        main = [] if self.table is None else list(self.table.main) or keys
        self.metrics = [keys.index(key) for key in asked.metrics if key in keys] or [keys.index(key) for key in main]
        self.metric = keys.index(asked.metric) if asked.metric in keys else 0
        self.rows = _rows(self.part, self.children)
        conditions = sorted((row.condition for row in self.rows), key=_rising)
        self.conditions = list(dict.fromkeys(map(named, conditions)))
        self.under = asked.under if asked.under in self.conditions else (self.conditions or [""])[0]
        self.over = _over(self.rows, self.part, asked)

    @property
    def untrained(self) -> Sequence[UntrainedLine]:
        """The rows without training, below the others."""
        return () if self.table is None else self.table.untrained

    def here(self) -> list[Row]:
        """Return the rows under the condition."""
        return [row for row in self.rows if named(row.condition) == self.under]

    def verdicts(self, metric: int) -> list[tuple[VariantPair, str]]:
        """Return the verdicts in a metric under the condition, in words too; differences that are seen stand first."""
        said = [] if self.table is None else self.table.verdicts()
        key = self.described[metric].key if self.described else ""
        found = [(pair, text) for one, group, pair, text in said if (one.key, group_words(group)) == (key, self.under)]
        return sorted(found, key=lambda judged: judged[0].verdict not in DIFFERENT)

    def conclusion(self) -> str:
        """Return what the verdicts in the metric come to under the condition; empty: nothing is compared."""
        key = self.described[self.metric].key if self.described else ""
        said = [] if self.table is None else self.table.conclusions()
        return next((text for one, group, text in said if (one.key, group_words(group)) == (key, self.under)), "")


def _over(rows: Sequence[Row], part: PlanPart, asked: Asked) -> Over | None:
    axes = axes_of(part)
    if not axes:
        return None
    axis = next((one for one in axes if one.title == asked.axis), axes[0])
    others = [one for one in axes if one is not axis]
    rests = [{one.title: row.on(one) for one in others if row.on(one) != LEVEL} for row in rows]
    whole = {named(rest): rest for rest in rests if not any(rest.items() < other.items() for other in rests)}
    at = asked.at if asked.at in whole else next(iter(whole))
    lines: dict[str, list[Row]] = {}
    for row, rest in zip(rows, rests, strict=True):
        if rest.items() <= whole[at].items():
            lines.setdefault(row.variant.family, []).append(row)
    order = [LEVEL, *axis.values]
    for line in lines.values():
        line.sort(key=lambda row: order.index(row.on(axis)))
    return Over(axis=axis, axes=axes, at=at, places=list(whole), lines=lines)


def named(condition: Mapping[str, Any]) -> str:
    """Write ``noise 0.2, batch 64``; empty for none."""
    return ", ".join(f"{name} {value_words(value)}" for name, value in condition.items())


def _rows(part: PlanPart, children: Sequence[Child]) -> list[Row]:
    """Return a row per planned variant and condition, by loss and in each as planned."""
    lines = dict(_lines(part))
    rows: dict[tuple[str, str], Row] = {}
    for child in children:
        for arm, variant in enumerate(child.planned.variants):
            key = (variant.title, named(child.planned.condition))
            row = Row(variant=variant, condition=child.planned.condition, line=lines.get(key))
            rows.setdefault(key, row).runs.append((child, arm))
    ordered = sorted(rows.values(), key=lambda row: row.variant.color)
    return sorted(ordered, key=lambda row: _rising(row.condition))


def _lines(part: PlanPart) -> Iterator[tuple[tuple[str, str], Line]]:
    if part.table is None:
        return
    groups = part.table.comparisons[0].groups
    cells = [(row.variant, group_words(group)) for group in groups for row in group.rows]
    yield from zip(cells, part.table.lines, strict=True)


def _rising(condition: Mapping[str, Any]) -> tuple[float, ...]:
    """Order conditions by their numbers; what is no number stays in its place."""
    return tuple(float(value) if isinstance(value, (int, float)) else 0.0 for value in condition.values())
