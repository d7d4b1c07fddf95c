"""A comparison in several metrics as a table: rows are variants under conditions, columns are metrics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from trainers.cells import csv_text, finite_number
from trainers.comparison import markup, words
from trainers.comparison.compare import Comparison, Group, VariantPair, compare
from trainers.comparison.estimate import Cell, Condition, Estimate, condition_key
from trainers.comparison.markup import Sheet
from trainers.comparison.words import conclude
from trainers.metrics.measure import Measure
from trainers.metrics.names import Described, describe_any


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of the table: a variant under a condition, with an estimate per metric.

    Attributes:
        best: per metric, whether a difference from every other variant is seen, for the better.
    """

    variant: str
    condition: tuple[Any, ...]
    estimates: tuple[Estimate, ...]
    best: tuple[bool, ...]
    missing: tuple[int, ...]

    @property
    def seeds(self) -> str:
        """How many seeds; a range where metrics differ."""
        counts = sorted({len(estimate.seeds) for estimate in self.estimates})
        return "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))


@dataclass(frozen=True, kw_only=True)
class UntrainedLine:
    """A row without training under a condition, with its numbers by key; it is judged by nothing."""

    title: str
    condition: Condition
    numbers: Mapping[str, float]

    @property
    def name(self) -> str:
        """What stands in the column of the variants."""
        return f"without training: {self.title}"


@dataclass(frozen=True, kw_only=True)
class ComparisonTable:
    """A comparison per metric, with the words of the metrics.

    Attributes:
        conditions: names of what the runs were trained under, in the order of the cells.
        told: metrics whose verdicts Markdown and LaTeX list; None: all. The file of pairs has every verdict.
        main: metrics that are shown first; the others are folded.
        remarks: sentences on the runs, which stand in front of the notes.
        against: a variant, so that they list only the verdicts on pairs with it; empty: on all pairs.
        seeds: of every run that has ended, those without a result among them; verdicts that stand on fewer name theirs.
        awaited: planned runs that have not ended. Until then no result is the best, and conclusions say "so far".
        untrained: rows without training, which stand below the others.
    """

    metrics: tuple[Described, ...]
    conditions: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    told: tuple[str, ...] | None = None
    main: tuple[str, ...] = ()
    against: str = ""
    remarks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    awaited: int = 0
    untrained: tuple[UntrainedLine, ...] = ()

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The rows, condition by condition."""
        lines = []
        for groups in zip(*(comparison.groups for comparison in self.comparisons), strict=True):
            leaders = [_leader(group, metric.measure) for group, metric in zip(groups, self.metrics, strict=True)]
            for rows in zip(*(group.rows for group in groups), strict=True):
                line = Line(
                    variant=rows[0].variant,
                    condition=self._values(groups[0]),
                    estimates=tuple(row.estimate for row in rows),
                    best=tuple(leader == rows[0].variant and not self.awaited for leader in leaders),
                    missing=tuple(sorted(set().union(*(row.missing for row in rows)))),
                )
                lines.append(line)
        return tuple(lines)

    def verdicts(self) -> Iterator[tuple[Described, Group, VariantPair, str]]:
        """Yield every pair under every condition in every metric, with its verdict in words."""
        for metric, comparison in zip(self.metrics, self.comparisons, strict=True):
            for group in comparison.groups:
                for pair in group.pairs:
                    said = words.verdict(pair, metric.measure)
                    yield metric, group, pair, f"{said}{words.on_seeds(pair, self.seeds)}"

    def conclusions(self) -> Iterator[tuple[Described, Group, str]]:
        """Yield metrics and conditions with what the verdicts come to, where anything is compared."""
        for metric, comparison in zip(self.metrics, self.comparisons, strict=True):
            for group in comparison.groups:
                if sentence := conclude(group, metric.title, metric.measure):
                    left = f"So far ({self.awaited} planned run{'s' if self.awaited > 1 else ''} not trained yet): "
                    beside = best_untrained(self.untrained, group, metric)
                    said = " ".join(filter(None, [sentence, words.stands_on(group, self.seeds), beside]))
                    yield metric, group, f"{left}{said}" if self.awaited else said

    def only(self, keys: Sequence[str]) -> ComparisonTable:
        """Return the table of these metrics alone."""
        chosen = [index for index, metric in enumerate(self.metrics) if metric.key in keys]
        metrics = tuple(self.metrics[index] for index in chosen)
        return replace(self, metrics=metrics, comparisons=tuple(self.comparisons[index] for index in chosen), main=())

    @property
    def brief(self) -> ComparisonTable:
        """The table of the main metrics alone."""
        return self.only(self.main) if self.main else self

    def notes(self) -> list[str]:
        """List sentences on what the intervals leave out, and on missing runs."""
        covered: dict[str, dict[tuple[str, str], None]] = {}
        for line in self.lines:
            for metric, estimate in zip(self.metrics, line.estimates, strict=True):
                if estimate.covers:
                    covered.setdefault(estimate.covers, {})[metric.title, self._title(line)] = None
        notes = [*self.remarks, *(f"{self._which(cells)}{sentence}" for sentence, cells in covered.items())]
        for line in self.lines:
            if line.missing:
                which = f"seed{'s' if len(line.missing) > 1 else ''} {', '.join(map(str, line.missing))}"
                notes.append(f"{self._title(line)}: no result of {which}.")
        there = {seed for line in self.lines for estimate in line.estimates for seed in estimate.seeds}
        if gone := [seed for seed in self.seeds if seed not in there]:
            notes.append(f"No result of {words.seeds_in_words(gone)}.")
        return notes

    def _which(self, cells: Iterable[tuple[str, str]]) -> str:
        """Name the metrics and rows of these cells, as the beginning of a sentence; empty for the whole table."""
        columns: dict[str, list[str]] = {}
        for metric, line in cells:
            columns.setdefault(line, []).append(metric)
        alike: dict[tuple[str, ...], list[str]] = {}
        for line, metrics in columns.items():
            alike.setdefault(tuple(dict.fromkeys(metrics)), []).append(line)
        named = []
        for shown, lines in alike.items():
            parts = [shown] if len(shown) < len({described.title for described in self.metrics}) else []
            parts += [tuple(filter(None, self._rows(lines)))] if len(lines) < len(self.lines) else []
            named.append(", ".join("; ".join(part) for part in parts))
        return f"{' / '.join(named)}: " if any(named) else ""

    def _rows(self, titles: Sequence[str]) -> Iterator[str]:
        """Yield the titles of these rows; one for all rows under a condition."""
        under: dict[tuple[Any, ...], list[str]] = {}
        for line in self.lines:
            under.setdefault(line.condition, []).append(self._title(line))
        for condition, rows in under.items():
            known = [title for title in rows if title in titles]
            yield self._under(condition) if len(rows) > 1 and known == rows else "; ".join(known)

    # --------------------------------------------------------------- exports

    def csv(self) -> str:
        """Write CSV, a line per row: per metric mean, standard deviation, interval and number of seeds, unrounded."""
        keys = [metric.key for metric in self.metrics]
        names = ("", " sd", " low", " high", " seeds")
        head = ["variant", *self.conditions, *(key + name for key in keys for name in names)]
        lines = [
            [line.variant, *line.condition, *(cell for estimate in line.estimates for cell in _numbers(estimate))]
            for line in self.lines
        ]
        for row in self.untrained:
            numbers = (_untrained_numbers(row.numbers.get(key, math.nan)) for key in keys)
            lines.append([row.name, *self._of(row.condition), *itertools.chain(*numbers)])
        return csv_text(head, lines)

    def pairs_csv(self) -> str:
        """Write CSV, a line per pair, condition and metric: the difference, its interval, p values and the verdict."""
        head = ["metric", *self.conditions, "first", "second", "difference", "low", "high", "seeds"]
        lines = []
        for metric, group, pair, _ in self.verdicts():
            mean, _, *rest = _numbers(pair.difference)
            numbers = [mean, *rest, pair.difference.p_value, pair.adjusted, pair.verdict, pair.difference.covers]
            lines.append([metric.key, *self._values(group), pair.first, pair.second, *numbers])
        return csv_text([*head, "p", "p_holm", "verdict", "interval covers"], lines)

    def markdown(self) -> str:
        """Write Markdown: what it comes to, the main metrics, the verdicts as a list, the other metrics folded."""
        rest = [metric.key for metric in self.metrics if self.main and metric.key not in self.main]
        further = self.only(rest)._sheet() if rest else None
        return markup.markdown(replace(self.brief._sheet(), further=further))

    def latex(self) -> str:
        """Write LaTeX for the package booktabs: the table of the main metrics, and the verdicts as comments."""
        shown = self.brief
        return markup.latex(replace(shown._sheet(), caption=" ".join([words.NARROW, *shown.notes()])))

    def json(self) -> dict[str, Any]:
        """Return plain values for the page; null for what is not known."""
        return {
            "metrics": [
                {
                    "key": metric.key,
                    "title": metric.title,
                    "short": metric.short,
                    "sentence": metric.sentence,
                    "unit": metric.measure.unit,
                    "better": metric.measure.better,
                    "main": not self.main or metric.key in self.main,
                }
                for metric in self.metrics
            ],
            "conditions": list(self.conditions),
            "rows": [self._line_json(line) for line in self.lines],
            "untrained": [
                {"title": row.title, "condition": dict(row.condition), "numbers": dict(row.numbers)}
                for row in self.untrained
            ],
            "pairs": [
                {
                    "metric": metric.key,
                    "condition": dict(group.condition),
                    "first": pair.first,
                    "second": pair.second,
                    "verdict": pair.verdict,
                    "words": said,
                    "p": finite_number(pair.difference.p_value),
                    "p_holm": finite_number(pair.adjusted),
                    **_estimate_json(pair.difference),
                }
                for metric, group, pair, said in self.verdicts()
            ],
            "conclusions": [
                {"metric": metric.key, "condition": dict(group.condition), "words": sentence}
                for metric, group, sentence in self.conclusions()
            ],
            "caption": words.NARROW,
            "method": words.METHOD,
            "notes": self.notes(),
        }

    # --------------------------------------------------------------- private

    def _sheet(self) -> Sheet:
        headings = [words.heading(metric.title, metric.measure) for metric in self.metrics]
        verdicts = []
        differing_first = sorted(self.verdicts(), key=lambda listed: listed[2].verdict not in ("above", "below"))
        for metric, group, pair, sentence in differing_first:
            if self.told is not None and metric.key not in self.told:
                continue
            if self.against and self.against not in (pair.first, pair.second):
                continue
            where = words.condition(group)
            verdicts.append(f"{metric.title}{f', {where}' if where else ''}: {sentence}.")
        lines: list[tuple[str | markup.Number, ...]] = [
            (line.variant, *map(words.shown, line.condition), *self._cells(line), line.seeds) for line in self.lines
        ]
        for row in self.untrained:
            lines.append((row.name, *map(words.shown, self._of(row.condition)), *self._plain_cells(row), "–"))
        return Sheet(
            head=("variant", *self.conditions, *headings, "seeds"),
            texts=1 + len(self.conditions),
            lines=tuple(lines),
            caption=" ".join([words.CAPTION, *self.notes()]),
            method=f"{words.METHOD}{f' {words.ELSEWHERE}' if self.told or self.against else ''}" if verdicts else "",
            verdicts=tuple(verdicts),
            conclusions=self._said() if verdicts else (),
        )

    def _said(self) -> tuple[str, ...]:
        """Say what the verdicts on the first metric come to, a sentence per condition."""
        first = self.metrics[0].key
        said = [(words.condition(group), text) for metric, group, text in self.conclusions() if metric.key == first]
        return tuple(f"{f'{where[:1].upper()}{where[1:]}: ' if where else ''}{text}" for where, text in said)

    def _cells(self, line: Line) -> Iterator[markup.Number]:
        for metric, estimate, best in zip(self.metrics, line.estimates, line.best, strict=True):
            spread = "" if math.isnan(estimate.spread) else words.number(estimate.spread, metric.measure)
            yield markup.Number(
                mean=words.number(estimate.mean, metric.measure),
                spread=spread,
                interval=words.interval(estimate, metric.measure),
                bold=best,
            )

    def _plain_cells(self, row: UntrainedLine) -> Iterator[markup.Number]:
        for metric in self.metrics:
            yield markup.Number(mean=words.number(row.numbers.get(metric.key, math.nan), metric.measure))

    def _line_json(self, line: Line) -> dict[str, Any]:
        cells = {
            metric.key: _estimate_json(estimate) | {"best": best}
            for metric, estimate, best in zip(self.metrics, line.estimates, line.best, strict=True)
        }
        condition = dict(zip(self.conditions, line.condition, strict=True))
        return {"variant": line.variant, "condition": condition, "missing": list(line.missing), "cells": cells}

    def _values(self, group: Group) -> tuple[Any, ...]:
        return self._of(group.condition)

    def _of(self, condition: Condition) -> tuple[Any, ...]:
        return tuple(condition.get(name, "") for name in self.conditions)

    def _title(self, line: Line) -> str:
        return ", ".join(filter(None, [line.variant, self._under(line.condition)]))

    def _under(self, condition: tuple[Any, ...]) -> str:
        known = zip(self.conditions, condition, strict=True)
        return ", ".join(f"{name} {words.shown(value)}" for name, value in known if value != "")


def table(
    cells: Sequence[Cell],
    metrics: Sequence[str | Described],
    levels: tuple[str, ...] = (),
    told: Sequence[str] | None = None,
    *,
    main: Sequence[str] = (),
) -> ComparisonTable:
    """Compare variants in several metrics.

    Args:
        metrics: keys, as of :func:`trainers.metrics.evaluate`; measures outside the catalogue bring their words.
        levels: the label tree's level names, finest first, for the titles of metrics at a level.
        told, main: see :class:`ComparisonTable`.

    Raises:
        UserError: as of :func:`trainers.comparison.compare`.
    """
    names = dict.fromkeys(name for cell in cells for name in cell.condition)
    described = tuple(describe_any(metric, levels) if isinstance(metric, str) else metric for metric in metrics)
    keys = [measure.key for measure in described]
    return ComparisonTable(
        metrics=described,
        conditions=tuple(names),
        comparisons=tuple(compare(cells, key) for key in keys),
        told=None if told is None else tuple(key for key in keys if key in told),
        main=tuple(key for key in keys if key in main),
        seeds=tuple(sorted({cell.seed for cell in cells})),
    )


def _leader(group: Group, measure: Measure) -> str | None:
    return group.leader(measure.better) if measure.better else None


def best_untrained(lines: Sequence[UntrainedLine], group: Group, metric: Described) -> str:
    """Name the best row without training under a condition, in a sentence; empty where none has the metric."""
    here = [row for row in lines if condition_key(row.condition) == condition_key(group.condition)]
    known = [row for row in here if metric.key in row.numbers]
    if not known or not metric.measure.better:
        return ""
    up = metric.measure.better == "up"
    best = (max if up else min)(known, key=lambda row: row.numbers[metric.key])
    value = best.numbers[metric.key]
    means = [row.estimate.mean for row in group.rows if math.isfinite(row.estimate.mean)]
    beaten = bool(means) and (value > max(means) if up else value < min(means))
    shown = f"{words.number(value, metric.measure)}{' %' if metric.measure.unit == 'share' else ''}"
    more = ", better than every mean here" if beaten else ""
    return f"The best row without training is {best.title}, {shown}{more}."


def _untrained_numbers(value: float) -> list[Any]:
    return [value, math.nan, math.nan, math.nan, 0]


def _numbers(estimate: Estimate) -> list[Any]:
    return [estimate.mean, estimate.spread, estimate.low, estimate.high, len(estimate.seeds)]


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    numbers = {name: finite_number(getattr(estimate, name)) for name in ("mean", "spread", "low", "high")}
    return numbers | {"seeds": list(estimate.seeds), "covers": estimate.covers}
