"""The verb ``mistakes``."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.cells import plain_cells
from trainers.cli.flags import runs_flag
from trainers.errors import ParameterError, UserError
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.retrieval.mistakes import Mistakes
    from trainers.runs.records import Probe

LINES = 10  # of a table of confusions or queries
FRAMES = 6  # of the table over the training


def add(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("mistakes", help="Show how bad a run's results are, what it confuses, where arms differ.")
    parser.add_argument("id", metavar="RUN")
    parser.add_argument("--baseline", metavar="RUN2", help="a run on the same images to compare with")
    parser.add_argument("--k", type=int, default=10, help="results of each query (default: 10)")
    parser.add_argument("--frame", type=int, help="which frame (default: the newest with embeddings)")
    parser.add_argument("--metric", default="AP", help="that arms differ in, of `metrics` (default: AP)")
    parser.add_argument("--class", dest="name", default="", help="classes whose name holds these words")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a line per arm and query")
    runs_flag(parser)
    parser.set_defaults(run=show)


def show(arguments: argparse.Namespace) -> int:
    """Print the tables, write the file."""
    from trainers.kinds import arm_titles
    from trainers.retrieval.mistakes import mistakes
    from trainers.retrieval.probe_results import labelled_probe_of, newest_embeddings, probe_results

    if arguments.k < 1:
        raise ParameterError(f"--k needs a whole number of at least 1; got {arguments.k}.")
    folder = RunFolder.open(arguments.runs, arguments.id)
    baseline = RunFolder.open(arguments.runs, arguments.baseline) if arguments.baseline else None
    probe, k = labelled_probe_of(folder), newest_embeddings(folder) if arguments.frame is None else arguments.frame
    every, results = arm_titles(folder.config), probe_results(folder, k, arguments.k)
    titles = [title for title, ids in zip(every, results, strict=True) if ids is not None]
    of_arms = [mistakes(ids, probe.labels) for ids in results if ids is not None]
    first = of_arms[0]
    left_out = f"; {first.left_out} have no other image of their class and are left out" if first.left_out else ""
    print(f"{probe.data_title}, frame {k}: {first.queries} queries, {first.k} results of each{left_out}")
    for title, ids in zip(every, results, strict=True):
        if ids is None:
            print(f"{title} has no results: its embeddings are not numbers, as its training diverged.")
    _severities(probe, titles, of_arms)
    _over_training(probe, every, folder, arguments.k)
    _confusions(probe, titles, of_arms)
    if arguments.name:
        _classes(probe, titles, of_arms, arguments.name)
    _queries(probe, folder, k, baseline, arguments.metric)
    if baseline is not None:
        _differences(folder, baseline, every)
    if arguments.csv is not None:
        _write(arguments.csv, folder, k, [ids for ids in results if ids is not None])
    return 0


def _severities(probe: Probe, titles: Sequence[str], of_arms: Sequence[Mistakes]) -> None:
    from trainers.hierarchy import severity_words

    words = severity_words(probe.hierarchy)[::-1]
    rows = []
    for title, arm in zip(titles, of_arms, strict=True):
        rows += [(title, "first result", *map(_percent, arm.top1[::-1]))]
        rows += [("", f"first {arm.k}", *map(_percent, arm.topk[::-1]))]
        if arm.wrong1 is not None and len(words) > 2:
            rows += [("", "first result, if wrong", "", *map(_percent, arm.wrong1[::-1]))]
    rows.append(("perfect lists", f"first {of_arms[0].k}", *map(_percent, of_arms[0].best[::-1])))
    _table("Results by the finest level that agrees", ("", "", *words), rows)


def _over_training(probe: Probe, titles: Sequence[str], folder: RunFolder, count: int) -> None:
    from trainers.hierarchy import severity_words
    from trainers.retrieval.mistakes_over_training import MistakesOverTraining

    series = MistakesOverTraining(folder).series(count)
    if len(series) < 2:
        return
    shown = sorted({round(i * (len(series) - 1) / (FRAMES - 1)) for i in range(FRAMES)})
    words = severity_words(probe.hierarchy)
    rows = [
        (title, word, *("" if moment is None else _percent(moment.top1[level]) for moment in moments))
        for title, moments in ((title, [series[at][2][arm] for at in shown]) for arm, title in enumerate(titles))
        for word, level in ((words[-1], -1), (words[0], 0))
    ]
    _table("First results over the training", ("", "", *(f"step {series[at][1]:,}" for at in shown)), rows)


def _confusions(probe: Probe, titles: Sequence[str], of_arms: Sequence[Mistakes]) -> None:
    names, levels = probe.hierarchy.names[0], probe.hierarchy.depth
    rows = [
        (title, names[c.query_class], names[c.result_class], c.count, f"{c.missing} of {levels}", c.cost, c.query)
        for title, arm in zip(titles, of_arms, strict=True)
        for c in arm.confusions[:LINES]
    ]
    head = ("arm", "query of", "result of", "results", "levels missing", "cost", "e.g. query")
    _table("Confusions that cost most", head, rows)


def _classes(probe: Probe, titles: Sequence[str], of_arms: Sequence[Mistakes], text: str) -> None:
    from trainers.retrieval.mistakes import find_classes

    rows = []
    for level, number in find_classes(probe.hierarchy, text):
        for title, arm in zip(titles, of_arms, strict=True):
            table = arm.levels[level]
            for at in (table.ids == number).nonzero()[0]:
                shares = (_percent(share[at]) for share in (table.own1, table.own, table.best))
                name = probe.hierarchy.names[level][number]
                rows.append((name, probe.hierarchy.levels[level], title, int(table.queries[at]), *shares))
    head = ("class", "level", "arm", "queries", "first result is of it", f"first {of_arms[0].k}", "at best")
    _table(f"Classes named {text!r}", head, rows)


def _queries(probe: Probe, folder: RunFolder, k: int, baseline: RunFolder | None, metric: str) -> None:
    from trainers.metrics import describe
    from trainers.retrieval.disagreements import disagreements

    differing = disagreements(folder, k, metric, baseline=baseline, most=LINES)
    if len(differing.arms) < 2:
        return
    titles = [arm.title if arm.run == folder.id else f"{arm.title} (baseline)" for arm in differing.arms]
    names = probe.hierarchy.names[0]
    rows = [
        (
            query.points[0],
            names[probe.labels[query.points[0], 0]],
            *("" if v is None else f"{v:.3f}" for v in query.values),
        )
        for query in differing.found
    ]
    title = f"Queries whose {describe(metric, probe.hierarchy.levels).title} differs most, of {differing.queries}"
    _table(title, ("query", "class", *titles), rows)


def _differences(folder: RunFolder, baseline: RunFolder, titles: Sequence[str]) -> None:
    from trainers.kinds import arm_titles, kind_of
    from trainers.metrics import describe
    from trainers.retrieval.baseline import differences

    difference, others = differences(folder, baseline), arm_titles(baseline.config)
    shown = kind_of(folder.config).measures_of(folder.config)
    keys = [*shown.numbers, *(f"test/{key}" for key in shown.whole)]
    keys = [key for key in keys if any((arm, key) in difference.numbers for arm in range(len(titles)))]
    rows = [
        (title, others[difference.pairs[arm]], *(_signed(difference.numbers.get((arm, key))) for key in keys))
        for arm, title in enumerate(titles)
    ]
    _table(f"Last numbers less those of {baseline.id}", ("arm", "less", *(describe(key).title for key in keys)), rows)
    if not difference.whole:
        print("The maps of the two runs show different images, in part: so do the numbers that are of the map.")


def _write(path: Path, folder: RunFolder, k: int, results: Sequence[Any]) -> None:
    from trainers.hierarchy import shared_levels
    from trainers.retrieval.probe_results import probe_of
    from trainers.retrieval.query_metrics import query_metrics

    probe, measured = probe_of(folder), query_metrics(folder, k)
    metrics = list(measured[0].values)
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            own, other = (tuple(f"{side}_{level}" for level in probe.hierarchy.levels) for side in ("query", "first"))
            writer.writerow(
                plain_cells(("arm", "query", "row", *own, *metrics, "first_result", *other, "levels_shared"))
            )
            for ids, arm in zip(results, measured, strict=True):
                for query, result in enumerate(ids[:, 0]):
                    values = (arm.values[name][query] for name in metrics)
                    names = (_names(probe, image) for image in (query, int(result)))
                    shared = shared_levels(probe.labels[query], probe.labels[result])
                    known = ("" if value != value else value for value in values)
                    line = (arm.title, query, int(probe.rows[query]), *next(names), *known)
                    writer.writerow(plain_cells((*line, int(result), *next(names), int(shared))))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}.") from error
    print(f"wrote {path}")


def _names(probe: Probe, image: int) -> tuple[str, ...]:
    return tuple(names[label] for names, label in zip(probe.hierarchy.names, probe.labels[image], strict=True))


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def _table(title: str, head: Sequence[object], rows: Sequence[Sequence[object]]) -> None:
    lines = [[str(cell) for cell in row] for row in (head, *rows)] if rows else [["none"]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    print(f"\n{title}")
    for line in lines:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
