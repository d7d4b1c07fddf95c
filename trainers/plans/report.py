"""What a plan has found so far: a table and the verdicts for each of its parts, and where its runs stand."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trainers.comparison import Cell, Table, table
from trainers.comparison.markup import markdown_text, one_line
from trainers.errors import RunError
from trainers.kinds import kind_of
from trainers.kinds.base import Kind
from trainers.plans.children import Child, Children
from trainers.plans.planned import Outcome, PlannedRun, Variant
from trainers.runs import RunFolder
from trainers.runs.records import ACTIVE, QueryScores


@dataclass(frozen=True, kw_only=True)
class Part:
    """Runs of a plan that are compared with each other.

    Attributes:
        name: see :attr:`trainers.plans.planned.PlannedRun.part`.
        title: as listed.
        children: of this part, those without a result among them.
        table: of the results that are there; None: there are none yet.
    """

    name: str
    title: str
    children: Sequence[Child]
    table: Table | None

    @property
    def variants(self) -> dict[str, Variant]:
        """The variants by title."""
        return {variant.title: variant for child in self.children for variant in child.planned.variants}


@dataclass(frozen=True, kw_only=True)
class Report:
    """The parts of a plan, and what its kind has to say beyond them.

    Attributes:
        title: of the plan.
        findings: headings and sentences of the kind, see :meth:`trainers.kinds.base.Kind.findings`.
    """

    title: str
    children: Sequence[Child]
    parts: Sequence[Part]
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
        """The tables and verdicts as Markdown."""
        return self._text(lambda part: part.markdown(), "## {}", lambda text: f"- {markdown_text(text)}")

    def latex(self) -> str:
        """The tables and verdicts as LaTeX, for the package booktabs."""
        return self._text(lambda part: part.latex(), "% {}", lambda text: f"% {one_line(text)}")

    def csv(self) -> str:
        """The table of the first part that has one; of several parts one below the other."""
        return self._text(lambda part: part.csv(), "# {}")

    def archive(self) -> bytes:
        """A zip file with the tables of every part in all forms, and the files of the findings."""
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
        """Plain values for the page."""
        return {
            "title": self.title,
            "parts": [_part_json(part) for part in self.parts],
            "findings": [{"title": one.title, "sentences": list(one.sentences)} for one in self.findings],
            "missing": self.missing,
            "runs": [_child_json(child) for child in self.children],
        }

    def _text(self, write: Callable[[Table], str], heading: str, item: Callable[[str], str] | None = None) -> str:
        blocks: list[str] = []
        tables = [part for part in self.parts if part.table is not None]
        for part in tables:
            assert part.table is not None
            blocks += [heading.format(part.title)] if len(tables) > 1 else []
            blocks.append(write(part.table))
        if item is not None:
            for finding in self.findings:
                blocks.append("\n".join([heading.format(finding.title), *map(item, finding.sentences)]))
            if self.missing:
                blocks.append("\n".join([heading.format("Without a result"), *map(item, self.missing)]))
        return "".join(f"{block.strip()}\n\n" for block in blocks).rstrip() + "\n"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a kind of plan has found out beyond its tables.

    Attributes:
        files: further texts by name, for the archive.
    """

    title: str
    sentences: tuple[str, ...] = field(default=())
    files: Mapping[str, str] = field(default_factory=dict)


def report(folder: RunFolder, children: Sequence[Child] | None = None) -> Report:
    """The report on a plan.

    Args:
        folder: of the plan.
        children: its runs, where they have been looked at already.

    Raises:
        RunError: a folder cannot be read.
    """
    config, kind = folder.config, kind_of(folder.config)
    children = Children(folder).all() if children is None else children
    levels = _levels(folder, children)
    parts = [
        _part(folder, kind, name, title, [child for child in children if name in child.planned.parts], levels)
        for name, title in kind.parts.items()
    ]
    return Report(
        title=kind.run_title(config, kind.data_title(config)),
        children=children,
        parts=parts,
        findings=tuple(kind.findings(config, children, parts)),
    )


def _part(
    folder: RunFolder, kind: Kind, name: str, title: str, children: Sequence[Child], levels: tuple[str, ...]
) -> Part:
    cells = list(_cells(folder, children))
    measures = kind.measures_of(folder.config)
    keys = {key for cell in cells for key in cell.metrics if measures.describe(key).measure.family != "count"}
    chosen = sorted(keys, key=lambda key: (key not in measures.whole, measures.order(key)))
    made = table(cells, chosen, levels, told=measures.whole) if chosen else None
    return Part(name=name, title=title, children=children, table=made)


def _cells(folder: RunFolder, children: Sequence[Child]) -> Iterator[Cell]:
    """A cell per arm of every run that has ended; one that was also trained alone counts once."""
    seen: set[object] = set()
    for child in sorted(children, key=lambda child: child.outcome is None or not child.outcome.finished):
        if child.outcome is None:
            continue
        queries = None
        if child.outcome.finished:
            queries = _queries(folder.beside(child.id), len(child.planned.variants))
        for arm, variant in enumerate(child.planned.variants):
            place = (variant.title, frozenset(child.planned.condition.items()), child.planned.seed)
            if place in seen:
                continue
            seen.add(place)
            yield Cell(
                variant=variant.title,
                condition=child.planned.condition,
                seed=child.planned.seed,
                metrics=child.outcome.numbers[arm] if child.outcome.finished else {},
                queries=None if queries is None else queries.of(arm),
            )


def _queries(run: RunFolder, arms: int) -> QueryScores | None:
    """The results per query of a run; None where they were not kept, or cannot be read: its means still count."""
    try:
        queries = run.test_queries()
    except RunError:
        return None
    finally:
        run.db.close()
    return queries if queries is not None and len(queries.values) == arms else None


def _levels(folder: RunFolder, children: Sequence[Child]) -> tuple[str, ...]:
    """Names of the levels of the label tree, as a run has read them; empty before one has."""
    for child in children:
        if child.outcome is not None and child.outcome.finished:
            run = folder.beside(child.id)
            try:
                probe = run.probe()
            except RunError:
                continue
            finally:
                run.db.close()
            if probe is not None:
                return tuple(probe.hierarchy.levels)
    return ()


def _part_json(part: Part) -> dict[str, Any]:
    variants = part.variants
    about = {
        "name": part.name,
        "title": part.title,
        "variants": [_variant_json(variant) for variant in variants.values()],
        "axes": _axes(part),
        "table": None,
    }
    if part.table is None:
        return about
    values = part.table.json()
    runs = _values(part.children)
    for row in values["rows"]:
        for key, cell in row["cells"].items():
            place = (row["variant"], frozenset(row["condition"].items()))
            cell["values"] = [
                {"seed": seed, "value": _finite(outcome.numbers[arm].get(key)), "run": run, "arm": arm}
                for seed, outcome, run, arm in runs.get(place, ())
            ]
    return about | {"table": values}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _variant_json(variant: Variant) -> dict[str, Any]:
    return {
        "title": variant.title,
        "family": variant.family,
        "color": variant.color,
        "parameters": dict(variant.parameters),
    }


def _values(children: Sequence[Child]) -> dict[object, list[tuple[int, Outcome, str, int]]]:
    """Seed, outcome, run and arm of every finished run, by variant and condition."""
    found: dict[object, list[tuple[int, Outcome, str, int]]] = {}
    for child in children:
        if child.outcome is None or not child.outcome.finished:
            continue
        for arm, variant in enumerate(child.planned.variants):
            place = (variant.title, frozenset(child.planned.condition.items()))
            found.setdefault(place, []).append((child.planned.seed, child.outcome, child.id, arm))
    return found


def _axes(part: Part) -> list[dict[str, Any]]:
    """What differs between the runs of a part: settings of the condition, and parameters of the losses."""
    planned = [child.planned for child in part.children]
    conditions = _differing([one.condition for one in planned])
    parameters = _differing([variant.parameters for one in planned for variant in one.variants])
    return [{"title": name, "of": "condition", "values": values} for name, values in conditions.items()] + [
        {"title": name, "of": "parameters", "values": values} for name, values in parameters.items()
    ]


def _differing(given: Sequence[Any]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    for one in given:
        for name, value in one.items():
            known = values.setdefault(name, [])
            if value not in known:
                known.append(value)
    return {name: known for name, known in values.items() if len(known) > 1}


def _child_json(child: Child) -> dict[str, Any]:
    planned: PlannedRun = child.planned
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
