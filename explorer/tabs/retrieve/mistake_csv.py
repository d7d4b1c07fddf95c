"""The tables of the section "Mistakes" as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explorer.server.http import GoneError
from explorer.tabs.retrieve import mistake_bodies as bodies
from explorer.tabs.retrieve.mistakes import MistakeAnswers
from trainers.cells import plain_cells

Rows = list[Sequence[object]]
_CONFUSION = ("query_class", "result_class", "count", "shared", "missing", "cost", "row", "rank")


def mistake_table(answers: MistakeAnswers, name: str, asked: Mapping[str, Any]) -> bytes:
    """A table by name.

    Args:
        asked: as its body takes it.

    Raises:
        GoneError: there is no such table.
        UserError: something about it is wrong.
    """
    if name not in _TABLES:
        raise GoneError(f"There is no table {name[:40]!r}; there are {', '.join(_TABLES)}.")
    return as_csv(_TABLES[name](answers, asked))


def as_csv(rows: Sequence[Sequence[object]]) -> bytes:
    """Rows, the head among them; no cell is read as a formula, what is not known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(map(plain_cells, rows))
    return out.getvalue().encode()


def _severity(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    found = answers.severity(bodies.Mistakes.of(asked))
    several = f"first {found['k']}"
    rows: Rows = [("run", "step", "arm", "results", *found["words"])]
    for arm in found["arms"]:
        rows += [(found["run"], found["step"], arm["title"], "first", *arm["top1"])]
        rows += [(found["run"], found["step"], arm["title"], several, *arm["topk"])]
        if arm["wrong1"] is not None:
            rows += [(found["run"], found["step"], arm["title"], "first, if wrong", *arm["wrong1"], 0)]
    return [*rows, (found["run"], found["step"], "best possible", several, *found["best"])]


def _training(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    found = answers.training(bodies.Mistakes.of(asked))
    rows: Rows = [("run", "step", "arm", "results", *found["words"])]
    for arm in found["arms"]:
        for step, first, several in zip(found["steps"], arm["top1"], arm["topk"], strict=True):
            if first is None:
                continue
            rows += [(found["run"], step, arm["title"], "first", *first)]
            rows += [(found["run"], step, arm["title"], f"first {found['k']}", *several)]
    return rows


def _classes(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    found = answers.classes(bodies.Classes.of({**asked, "count": bodies.MOST_LISTED}))
    several = f"first {found['k']}"
    rows: Rows = [("run", "step", "class", "level", "queries", "arm", "first result is of it", several, "at best")]
    for one in found["classes"]:
        about = (found["run"], found["step"], one["name"], one["level"], one["queries"])
        for title, arm in zip(found["arms"], one["arms"], strict=True):
            rows.append((*about, title, arm["own1"], arm["own"], one["best"]))
    return rows


def _confusions(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    found = answers.severity(bodies.Mistakes.of(asked))
    rows: Rows = [("run", "step", "arm", *_CONFUSION)]
    for arm in found["arms"]:
        about = (found["run"], found["step"], arm["title"])
        rows += [(*about, *(one[key] for key in _CONFUSION)) for one in arm["confusions"]]
    return rows


def _queries(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    found = answers.queries(bodies.Queries.of({**asked, "count": bodies.MOST_LISTED}))
    rows: Rows = [("row", "classes", *(f"{arm['title']} ({arm['run']})" for arm in found["arms"]), "spread")]
    return rows + [(one["row"], " > ".join(one["classes"]), *one["values"], one["spread"]) for one in found["found"]]


_TABLES: Mapping[str, Callable[[MistakeAnswers, Mapping[str, Any]], Rows]] = {
    "severity": _severity,
    "training": _training,
    "classes": _classes,
    "confusions": _confusions,
    "queries": _queries,
}
