"""The tables of the section "Mistakes" as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explorer.server.http import GoneError
from explorer.tabs.retrieve import mistake_bodies as bodies
from explorer.tabs.retrieve.mistakes import MistakeAnswers
from trainers.cells import csv_text

Rows = list[Sequence[object]]
_CONFUSION = ("query_class", "result_class", "count", "shared", "missing", "cost", "row", "rank")


def mistake_table(answers: MistakeAnswers, name: str, asked: Mapping[str, Any]) -> bytes:
    """Write a table, by name.

    Args:
        asked: as its body takes it.

    Raises:
        GoneError: there is no such table.
        UserError: something about it is wrong.
    """
    if name not in _TABLES:
        raise GoneError(f"There is no table {name[:40]!r}; there are {', '.join(_TABLES)}.")
    head, *lines = _TABLES[name](answers, asked)
    return csv_text(list(map(str, head)), lines).encode()


def _severity(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    answer = answers.severity(bodies.Mistakes.of(asked))
    several = f"first {answer['k']}"
    rows: Rows = [("run", "step", "arm", "results", *answer["words"])]
    for arm in answer["arms"]:
        rows += [(answer["run"], answer["step"], arm["title"], "first", *arm["top1"])]
        rows += [(answer["run"], answer["step"], arm["title"], several, *arm["topk"])]
        if arm["wrong1"] is not None:
            rows += [(answer["run"], answer["step"], arm["title"], "first, if wrong", *arm["wrong1"], 0)]
    return [*rows, (answer["run"], answer["step"], "best possible", several, *answer["best"])]


def _training(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    answer = answers.training(bodies.Mistakes.of(asked))
    rows: Rows = [("run", "step", "arm", "results", *answer["words"])]
    for arm in answer["arms"]:
        for step, first, several in zip(answer["steps"], arm["top1"], arm["topk"], strict=True):
            if first is None:
                continue
            rows += [(answer["run"], step, arm["title"], "first", *first)]
            rows += [(answer["run"], step, arm["title"], f"first {answer['k']}", *several)]
    return rows


def _classes(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    answer = answers.classes(bodies.Classes.of({**asked, "count": bodies.MOST_LISTED}))
    several = f"first {answer['k']}"
    rows: Rows = [("run", "step", "class", "level", "queries", "arm", "first result is of it", several, "at best")]
    for class_row in answer["classes"]:
        about = (answer["run"], answer["step"], class_row["name"], class_row["level"], class_row["queries"])
        for title, arm in zip(answer["arms"], class_row["arms"], strict=True):
            rows.append((*about, title, arm["own1"], arm["own"], class_row["best"]))
    return rows


def _confusions(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    answer = answers.severity(bodies.Mistakes.of(asked))
    rows: Rows = [("run", "step", "arm", *_CONFUSION)]
    for arm in answer["arms"]:
        about = (answer["run"], answer["step"], arm["title"])
        rows += [(*about, *(confusion[key] for key in _CONFUSION)) for confusion in arm["confusions"]]
    return rows


def _queries(answers: MistakeAnswers, asked: Mapping[str, Any]) -> Rows:
    answer = answers.queries(bodies.Queries.of({**asked, "count": bodies.MOST_LISTED}))
    rows: Rows = [("row", "classes", *(f"{arm['title']} ({arm['run']})" for arm in answer["arms"]), "spread")]
    return rows + [
        (query["row"], " > ".join(query["classes"]), *query["values"], query["spread"]) for query in answer["found"]
    ]


_TABLES: Mapping[str, Callable[[MistakeAnswers, Mapping[str, Any]], Rows]] = {
    "severity": _severity,
    "training": _training,
    "classes": _classes,
    "confusions": _confusions,
    "queries": _queries,
}
