"""The report on a plan: a table and the verdicts for each of its parts, and where its runs stand."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from trainers.cells import finite_number
from trainers.comparison import Cell, ComparisonTable, Condition, UntrainedLine, condition_key, table
from trainers.comparison.markup import markdown_text, one_line
from trainers.errors import RunError
from trainers.metrics.measures import TEST, Measures
from trainers.plans.base import plan_of
from trainers.plans.children import Children
from trainers.plans.config import sweep_of
from trainers.plans.planned import Child, Finding, Outcome, PlanPart, Variant
from trainers.runs import RunFolder
from trainers.runs.records import ACTIVE, QueryScores


def part_json(part: PlanPart) -> dict[str, Any]:
    """Describe a part with its table; in every cell of the table the values of the runs that it is the mean of."""
    variants = part.variants
    about = {
        "name": part.name,
        "title": part.title,
        "variants": [_variant_json(variant) for variant in variants.values()],
        "axes": [
            {"title": axis.title, "of": "parameters" if axis.of_losses else "condition", "values": axis.values}
            for axis in axes_of(part)
        ],
        "table": None,
    }
    if part.table is None:
        return about
    values = part.table.json()
    runs = _values(part.children)
    for row in values["rows"]:
        for key, cell in row["cells"].items():
            cell_key = (row["variant"], condition_key(row["condition"]))
            cell["values"] = [
                {"seed": seed, "value": finite_number(outcome.numbers[arm].get(key)), "run": run, "arm": arm}
                for seed, outcome, run, arm in runs.get(cell_key, ())
            ]
    return about | {"table": values}


def child_json(child: Child) -> dict[str, Any]:
    """Describe a planned run and where it stands."""
    planned = child.planned
    return {
        "id": child.id,
        "title": planned.title,
        "phase": child.phase,
        "trains": child.outcome is None and child.phase in ACTIVE,
        "ended": child.outcome is not None,
        "lost": child.outcome is not None and not child.outcome.finished,
        "error": "" if child.outcome is None else child.outcome.error,
        "part": planned.part,
        "parts": list(planned.parts),
        "seed": planned.seed,
        "condition": dict(planned.condition),
        "variants": [variant.title for variant in planned.variants],
        "seconds": None if child.outcome is None else child.outcome.seconds,
    }


def _variant_json(variant: Variant) -> dict[str, Any]:
    return {
        "title": variant.title,
        "family": variant.family,
        "color": variant.color,
        "parameters": dict(variant.parameters),
    }


def _values(children: Sequence[Child]) -> dict[object, list[tuple[int, Outcome, str, int]]]:
    """Return seed, outcome, run and arm of every finished run, by variant and condition."""
    values: dict[object, list[tuple[int, Outcome, str, int]]] = {}
    for child in children:
        if child.outcome is None or not child.outcome.finished:
            continue
        for arm, variant in enumerate(child.planned.variants):
            key = (variant.title, condition_key(child.planned.condition))
            values.setdefault(key, []).append((child.planned.seed, child.outcome, child.id, arm))
    return values


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A setting that differs between the runs of a part.

    Attributes:
        values: as planned.
        of_losses: it is a parameter of losses; else of the condition of a run.
    """

    title: str
    values: list[Any]
    of_losses: bool


def axes_of(part: PlanPart) -> list[Axis]:
    """List what differs between the runs of a part: settings of the condition, and parameters of the losses."""
    planned = [child.planned for child in part.children]
    conditions = _differing([run.condition for run in planned])
    parameters = _differing([variant.parameters for run in planned for variant in run.variants])
    differing = [(False, conditions), (True, parameters)]
    return [
        Axis(title=name, values=values, of_losses=of_losses)
        for of_losses, found in differing
        for name, values in found.items()
    ]


def _differing(given: Sequence[Any]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    for mapping in given:
        for name, value in mapping.items():
            known = values.setdefault(name, [])
            if value not in known:
                known.append(value)
    return {name: known for name, known in values.items() if len(known) > 1}


_ALIKE = 1.1  # times as many steps as the fewest, up to which seeds count as trained alike
MAIN = 3
"""Metrics that a table begins with; the others are folded."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The parts of a plan, and what it has to say beyond them.

    Attributes:
        title: of the plan.
        findings: headings and sentences of the plan, see :meth:`trainers.plans.base.Plan.findings`.
    """

    title: str
    children: Sequence[Child]
    parts: Sequence[PlanPart]
    findings: Sequence[Finding] = ()

    @cached_property
    def missing(self) -> list[str]:
        """A sentence for every run that ended without a result."""
        return [
            f"{child.planned.title}: {child.outcome.error}"
            for child in self.children
            if child.outcome is not None and not child.outcome.finished
        ]

    def markdown(self) -> str:
        """Write the tables and verdicts as Markdown."""
        return self._text(lambda part: part.markdown(), "## {}", lambda text: f"- {markdown_text(text)}")

    def latex(self) -> str:
        """Write the tables and verdicts as LaTeX, for the package booktabs."""
        return self._text(lambda part: part.latex(), "% {}", lambda text: f"% {one_line(text)}")

    def csv(self) -> str:
        """Write the table of the first part that has one; of several parts one below the other."""
        return self._text(lambda part: part.csv(), "# {}")

    def archive(self) -> bytes:
        """Make a zip file with the tables of every part in all forms, and the files of the findings."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("report.md", self.markdown())
            for part in self.parts:
                if part.table is not None:
                    name = part.name or "results"
                    archive.writestr(f"{name}.csv", part.table.csv())
                    archive.writestr(f"{name}-pairs.csv", part.table.pairs_csv())
                    archive.writestr(f"{name}.md", part.table.markdown())
                    archive.writestr(f"{name}.tex", part.table.latex())
            for finding in self.findings:
                for name, text in finding.files.items():
                    archive.writestr(name, text)
        return buffer.getvalue()

    def json(self) -> dict[str, Any]:
        """Return plain values for the page."""
        return {
            "title": self.title,
            "parts": [part_json(part) for part in self.parts],
            "findings": [{"title": finding.title, "sentences": list(finding.sentences)} for finding in self.findings],
            "missing": self.missing,
            "runs": [child_json(child) for child in self.children],
        }

    def _text(
        self, write: Callable[[ComparisonTable], str], heading: str, item: Callable[[str], str] | None = None
    ) -> str:
        blocks: list[str] = []
        tables = [(part.title, part.table) for part in self.parts if part.table is not None]
        for title, shown in tables:
            blocks += [heading.format(title)] if len(tables) > 1 else []
            blocks.append(write(shown))
        if item is not None:
            for finding in self.findings:
                blocks.append("\n".join([heading.format(finding.title), *map(item, finding.sentences)]))
            if self.missing:
                blocks.append("\n".join([heading.format("Without a result"), *map(item, self.missing)]))
        return "".join(f"{block.strip()}\n\n" for block in blocks).rstrip() + "\n"


def report(folder: RunFolder, children: Sequence[Child] | None = None) -> Report:
    """Make the report on a plan.

    Args:
        folder: of the plan.
        children: its runs, where they have been looked at already.

    Raises:
        RunError: a folder cannot be read.
    """
    config = sweep_of(folder.config)
    plan = plan_of(config)
    children = Children(folder).all() if children is None else children
    levels, measures = levels_among(folder, children), plan.measures_of(config)
    parts = [
        _part(folder, measures, name, title, [child for child in children if name in child.planned.parts], levels)
        for name, title in plan.parts.items()
    ]
    return Report(
        title=plan.run_title(config, plan.data_title(config)),
        children=children,
        parts=parts,
        findings=tuple(plan.findings(config, children, parts)),
    )


def _part(
    folder: RunFolder, measures: Measures, name: str, title: str, children: Sequence[Child], levels: tuple[str, ...]
) -> PlanPart:
    made = results_table(results_of(folder, children), measures, levels)
    if made is not None:
        awaited = sum(child.outcome is None for child in children)
        rows = untrained_lines_of(folder, children)
        made = replace(made, remarks=_unequal_steps(children), awaited=awaited, untrained=rows)
    return PlanPart(name=name, title=title, children=children, table=made)


def untrained_lines_of(folder: RunFolder, children: Sequence[Child]) -> tuple[UntrainedLine, ...]:
    """Return the rows without training under each condition, of the first run there that keeps some."""
    lines: dict[object, list[UntrainedLine]] = {}
    for child in children:
        key = condition_key(child.planned.condition)
        if not lines.get(key) and child.outcome is not None and child.outcome.finished:
            lines[key] = untrained_of(folder.beside(child.id), child.planned.condition)
    return tuple(itertools.chain(*lines.values()))


def untrained_of(run: RunFolder, condition: Condition) -> list[UntrainedLine]:
    """Return the rows without training of a run as lines of a table; none where it keeps none, or they are damaged."""
    try:
        record = run.untrained()
    except RunError:
        return []
    finally:
        run.db.close()
    if record is None:
        return []
    some = len(record.images) < record.total
    of = f" ({len(record.images):,} of {record.total:,} test images)" if some else ""
    return [
        UntrainedLine(
            title=f"{row.title}{of}",
            condition=condition,
            numbers={key.removeprefix(TEST): value for key, value in row.numbers.items() if key.startswith(TEST)},
        )
        for row in record.rows
    ]


def _unequal_steps(children: Sequence[Child]) -> tuple[str, ...]:
    """Say where runs that differ in their seed alone trained for different numbers of steps: the clock ended them."""
    steps: dict[object, list[int]] = {}
    for child in children:
        if child.outcome is not None and child.outcome.finished:
            planned = child.planned
            alike = (condition_key(planned.condition), planned.part, tuple(each.title for each in planned.variants))
            steps.setdefault(alike, []).append(child.outcome.steps)
    unequal = [step for group in steps.values() if max(group) > _ALIKE * min(group) for step in group]
    if not unequal:
        return ()
    return (
        f"Runs that differ in their seed alone trained for {min(unequal):,} to {max(unequal):,} steps, since their "
        "budget is in minutes: part of the spread is that. Give steps for equal trainings.",
    )


def results_table(
    cells: Sequence[Cell], measures: Measures, levels: tuple[str, ...], only: Sequence[str] = ()
) -> ComparisonTable | None:
    """Make a table of every number of the cells that is no count, those of the whole test set that a kind shows first.

    Args:
        levels: names of the levels of the label tree, finest first.
        only: keys of the numbers that are wanted, in their order; empty: all.

    Returns:
        None where there is no such number.

    Raises:
        UserError: as of :func:`trainers.comparison.compare`.
    """
    keys = {key for cell in cells for key in cell.metrics if measures.describe(key).measure.family != "count"}
    first = (*measures.headline, *measures.whole)
    chosen = sorted(keys, key=lambda key: (first.index(key) if key in first else len(first), measures.order(key)))
    if only:
        chosen = [key for key in dict.fromkeys(only) if key in keys]
        return table(cells, chosen, levels) if chosen else None
    judged = [key for key in chosen if key in measures.whole] or None
    return table(cells, chosen, levels, told=judged, main=chosen[:MAIN]) if chosen else None


def results_of(folder: RunFolder, children: Sequence[Child], *, with_queries: bool = True) -> list[Cell]:
    """Return a cell per arm of every run that has ended; one that was also trained alone counts once.

    Args:
        with_queries: read the results per query too, which intervals need and means do not.
    """
    cells: list[Cell] = []
    seen: set[object] = set()
    for child in sorted(children, key=lambda child: child.outcome is None or not child.outcome.finished):
        if child.outcome is None:
            continue
        queries = None
        if child.outcome.finished and with_queries:
            queries = queries_of(folder.beside(child.id), len(child.planned.variants))
        for arm, variant in enumerate(child.planned.variants):
            key = (variant.title, condition_key(child.planned.condition), child.planned.seed)
            if key in seen:
                continue
            seen.add(key)
            cell = Cell(
                variant=variant.title,
                condition=child.planned.condition,
                seed=child.planned.seed,
                metrics=child.outcome.numbers[arm] if child.outcome.finished else {},
                queries=None if queries is None else queries.of(arm),
            )
            cells.append(cell)
    return cells


def queries_of(run: RunFolder, arms: int) -> QueryScores | None:
    """Return the results per query of a run; None where they are not kept or cannot be read: its means still count."""
    try:
        queries = run.test_queries()
    except RunError:
        return None
    finally:
        run.db.close()
    return queries if queries is not None and len(queries.values) == arms else None


def levels_among(folder: RunFolder, children: Sequence[Child]) -> tuple[str, ...]:
    """Return the names of the levels of the label tree, as a run has read them; empty before one has."""
    for child in children:
        finished = child.outcome is not None and child.outcome.finished
        if finished and (levels := levels_of(folder.beside(child.id))):
            return levels
    return ()


def levels_of(run: RunFolder) -> tuple[str, ...]:
    """Return the names of the levels of a run's label tree, finest first; empty where they cannot be read."""
    try:
        probe = run.probe()
    except RunError:
        return ()
    finally:
        run.db.close()
    return () if probe is None else tuple(probe.hierarchy.levels)
