"""The verb ``background``: what the encoders of a run look at, the object or its surroundings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trainers.cells import csv_text
from trainers.cli.flags import add_flags, given, runs_flag
from trainers.cli.output import json_flag, print_json, write_file
from trainers.cli.progress import progress_bar
from trainers.cli.verb import verb
from trainers.errors import ParameterError
from trainers.object_removal.reliance.settings import Settings

if TYPE_CHECKING:
    from trainers.object_removal.reliance.results import BackgroundResult


WHAT = (
    "Id of a run, an exported .safetensors file, or an image-text model such as tiny_clip, the last two with --data; "
    "several are measured in turn."
)


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="RUN", help=WHAT)
    add_flags(parser, Settings)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="Write every number with its interval.")
    parser.add_argument(
        "--list",
        type=int,
        default=0,
        metavar="N",
        help="Also list N queries that notice the loss of their object least.",
    )
    parser.add_argument(
        "--pool", action="store_true", help="Also compare the arms over runs that differ in their seed, with verdicts."
    )
    parser.add_argument(
        "--against",
        nargs="+",
        default=(),
        metavar="RUN",
        help="With --pool: compare the change from these runs, of the same seeds.",
    )
    runs_flag(parser)
    json_flag(parser)


@verb("background", _equip)
def background(arguments: argparse.Namespace) -> int:
    """Search with the object of each query removed, and with nothing but the object."""
    from trainers.object_removal.reliance.over_runs import over_runs, text
    from trainers.object_removal.reliance.results import COLUMNS

    if arguments.list < 0:
        raise ParameterError(f"--list needs a whole number of at least 0; got {arguments.list}.")
    if arguments.against and not arguments.pool:
        raise ParameterError("--against needs --pool: the change is compared over the runs.")
    settings = Settings(**given(arguments, Settings))
    rows, results = [], []
    for number, run in enumerate(arguments.ids):
        result = _measured(arguments.runs, run, settings)
        if not arguments.json:
            print(("\n" if number else "") + f"run {run}\n{result.text()}")
            for arm in range(len(result.arms) if arguments.list else 0):
                print(_listed(result, arm, arguments.list))
        rows += result.table()
        results.append(result)
    pooled = []
    if arguments.pool:
        others = [_measured(arguments.runs, run, settings) for run in arguments.against]
        pooled = over_runs(results, others)
    if arguments.json:
        of_runs = [
            {"run": run} | measured.json(arguments.list) for run, measured in zip(arguments.ids, results, strict=True)
        ]
        print_json({"runs": of_runs, "pooled": [{"title": part.title} | part.table.json() for part in pooled]})
    elif pooled:
        print(f"\n{text(pooled)}")
    sys.stdout.flush()
    if arguments.csv is not None:
        write_file(arguments.csv, csv_text(COLUMNS, (row.values() for row in rows)).encode())
        print(f"wrote {arguments.csv}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def _measured(root: Path, run: str, settings: Settings) -> BackgroundResult:
    from trainers.object_removal.reliance.measure import measure
    from trainers.retrieval.encoders import encoders_of

    with progress_bar() as tell:
        return measure(encoders_of(run, root), settings, tell)


def _listed(result: BackgroundResult, arm: int, most: int) -> str:
    lines = [f"\nqueries of {result.arms[arm].title} that notice the loss of their object least:"]
    for query in result.unnoticing(arm, most):
        name = f" ({query['id']})" if query["id"] else ""
        lines.append(
            f"  row {query['row']}{name}: {query['stays']:.0%} of the neighbours stay, "
            f"similarity {query['similarity']:.3f}, {' < '.join(query['classes'])}"
        )
    return "\n".join(lines)
