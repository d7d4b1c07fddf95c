"""The verb ``mistakes``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainers.cells import counted
from trainers.cli.flags import DEFAULT, runs_flag
from trainers.cli.output import Rounded, Share, Signed, Table, json_flag, print_json
from trainers.cli.parser import RUN, RunNames, verb
from trainers.errors import ParameterError
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.retrieval.mistakes import Mistakes
    from trainers.runs.records import Probe

LINES = 10  # of a table of confusions or queries
FRAMES = 6  # of the table over the training


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=RUN)
    parser.add_argument(
        "--baseline", metavar="RUN", action=RunNames, help="Another run on the same images to compare with."
    )
    parser.add_argument("--k", type=int, default=10, metavar="N", help="Results of each query.")
    frame = f"Frame whose embeddings are taken. [{DEFAULT}the newest that has some]"
    parser.add_argument("--frame", type=int, metavar="N", help=frame)
    parser.add_argument("--metric", default="AP", metavar="NAME", help="Number that arms differ in, of `metrics`.")
    runs_flag(parser)
    json_flag(parser)


@verb("mistakes", _equip)
def show(arguments: argparse.Namespace) -> int:
    """Show how bad a run's results are, what it confuses, where arms differ."""
    from trainers.kinds import arm_titles
    from trainers.metrics.names import key_of
    from trainers.retrieval.mistakes import mistakes
    from trainers.retrieval.probe_results import (
        equal_by_arm,
        labelled_probe_of,
        newest_embeddings,
        probe_results,
        roles_of,
        sentence,
    )

    if arguments.k < 1:
        raise ParameterError(f"--k needs a whole number of at least 1; got {arguments.k}.")
    folder = RunFolder.open(arguments.runs, arguments.id)
    baseline = RunFolder.open(arguments.runs, arguments.baseline) if arguments.baseline else None
    probe, k = labelled_probe_of(folder), newest_embeddings(folder) if arguments.frame is None else arguments.frame
    every, results = arm_titles(folder.config), probe_results(folder, k, arguments.k)
    titles = [title for title, ids in zip(every, results, strict=True) if ids is not None]
    roles = roles_of(probe)
    of_arms = [mistakes(ids, probe.labels, roles=roles) for ids in results if ids is not None]
    first = of_arms[0]
    left_out = f"; {first.left_out} have no other image of their class and are left out" if first.left_out else ""
    count, each = counted(first.queries, "query"), counted(first.k, "result")
    said = [f"{probe.data_title}, frame {k}: {count}, {each} of each{left_out}"]
    said += [] if roles is None else [f"{roles.sentence('on the maps')}."]
    said += [
        f"{title} has no results: its embeddings are not numbers, as its training diverged."
        for title, ids in zip(every, results, strict=True)
        if ids is None
    ]
    equal = zip(every, equal_by_arm(folder, k), strict=False)
    said += [f"{title}: {told}" for title, count in equal if (told := sentence(count, len(probe.labels)))]
    tables = [_severities(probe, titles, of_arms), *_over_training(probe, every, folder, arguments.k)]
    tables.append(_confusions(probe, titles, of_arms))
    tables += _queries(probe, folder, k, baseline, key_of(arguments.metric))
    if baseline is not None:
        table, notes = _differences(folder, baseline, every)
        tables.append(table)
        said += notes
    if arguments.json:
        print_json({"said": said, "tables": [table.json() for table in tables]})
    else:
        print("\n\n".join(["\n".join(said), *(table.text() for table in tables)]))
    return 0


def _severities(probe: Probe, titles: Sequence[str], of_arms: Sequence[Mistakes]) -> Table:
    from trainers.hierarchy import severity_words

    words = severity_words(probe.hierarchy)[::-1]
    rows: list[tuple[object, ...]] = []
    for title, arm in zip(titles, of_arms, strict=True):
        rows += [(title, "first result", *map(Share, arm.top1[::-1]))]
        rows += [("", f"first {arm.k}", *map(Share, arm.topk[::-1]))]
        if arm.wrong1 is not None and len(words) > 2:
            rows += [("", "first result, if wrong", "", *map(Share, arm.wrong1[::-1]))]
    rows.append(("perfect lists", f"first {of_arms[0].k}", *map(Share, of_arms[0].best[::-1])))
    return Table(title="Results by the finest level that agrees", columns=("arm", "of", *words), rows=rows)


def _over_training(probe: Probe, titles: Sequence[str], folder: RunFolder, count: int) -> list[Table]:
    from trainers.hierarchy import severity_words
    from trainers.retrieval.mistakes import MistakesOverTraining

    series = MistakesOverTraining(folder).series(count)
    if len(series) < 2:
        return []
    shown = sorted({round(i * (len(series) - 1) / (FRAMES - 1)) for i in range(FRAMES)})
    words = severity_words(probe.hierarchy)
    rows = [
        (title, word, *(None if moment is None else Share(moment.top1[level]) for moment in moments))
        for title, moments in ((title, [series[at][2][arm] for at in shown]) for arm, title in enumerate(titles))
        for word, level in ((words[-1], -1), (words[0], 0))
    ]
    steps = (f"step {series[at][1]:,}" for at in shown)
    return [Table(title="First results over the training", columns=("arm", "first result", *steps), rows=rows)]


def _confusions(probe: Probe, titles: Sequence[str], of_arms: Sequence[Mistakes]) -> Table:
    names, levels = probe.hierarchy.names[0], probe.hierarchy.depth
    rows = [
        (title, names[c.query_class], names[c.result_class], c.count, f"{c.missing} of {levels}", c.cost, c.query)
        for title, arm in zip(titles, of_arms, strict=True)
        for c in arm.confusions[:LINES]
    ]
    head = ("arm", "query of", "result of", "results", "levels missing", "cost", "e.g. query")
    return Table(title="Confusions that cost most", columns=head, rows=rows)


def _signed(value: float | None) -> Signed | None:
    return None if value is None else Signed(value)


def _queries(probe: Probe, folder: RunFolder, k: int, baseline: RunFolder | None, metric: str) -> list[Table]:
    from trainers.metrics import describe
    from trainers.retrieval.baseline import disagreements

    answer = disagreements(folder, k, metric, baseline=baseline, most=LINES)
    if len(answer.arms) < 2:
        return []
    titles = [arm.title if arm.run == folder.id else f"{arm.title} (baseline)" for arm in answer.arms]
    names = probe.hierarchy.names[0]
    rows = [
        (
            query.points[0],
            names[probe.labels[query.points[0], 0]],
            *(None if v is None else Rounded(v) for v in query.values),
        )
        for query in answer.differing
    ]
    title = f"Queries whose {describe(metric, probe.hierarchy.levels).title} differs most, of {answer.queries}"
    return [Table(title=title, columns=("query", "class", *titles), rows=rows)]


def _differences(folder: RunFolder, baseline: RunFolder, titles: Sequence[str]) -> tuple[Table, list[str]]:
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
    columns = ("arm", "less", *(describe(key).title for key in keys))
    said = "The maps of the two runs show different images, in part: so do the numbers that are of the map."
    table = Table(title=f"Last numbers less those of {baseline.id}", columns=columns, rows=rows)
    return table, [] if difference.whole else [said]
