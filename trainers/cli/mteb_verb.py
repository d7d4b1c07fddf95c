"""The verb ``mteb``: an encoder on mteb's image-to-image retrieval tasks."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from trainers.cli.flags import runs_flag
from trainers.cli.output import Rounded, Table, json_flag, print_json
from trainers.cli.progress import progress_bar
from trainers.cli.verb import verb


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of a run, an exported file, or an image-text model.")
    parser.add_argument("--arm", type=int, default=0, metavar="N", help="Which of its encoders, counted from 0.")
    parser.add_argument(
        "--tasks", nargs="+", required=True, metavar="NAME", help="E.g. SOPI2IRetrieval. [default: none]"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("mteb"), metavar="FOLDER", help="Where mteb writes its results."
    )
    runs_flag(parser)
    json_flag(parser)


@verb("mteb", _equip)
def score(arguments: argparse.Namespace) -> int:
    """Score an encoder on image-to-image retrieval tasks of mteb (pip install mteb), which downloads their images."""
    from trainers.retrieval.encoders import encoders_of
    from trainers.retrieval.mteb_tasks import evaluate, tasks_named

    tasks = tasks_named(arguments.tasks)
    with progress_bar() as tell:
        scores = evaluate(encoders_of(arguments.id, arguments.runs), arguments.arm, tasks, arguments.out, tell)
    if arguments.json:
        print_json([dataclasses.asdict(score) for score in scores])
        return 0
    rows = [
        (
            score.task,
            score.measure,
            Rounded(score.score),
            score.images,
            "not known" if score.trained is None else score.trained,
        )
        for score in scores
    ]
    print(Table(columns=("task", "measure", "score", "images", "of these trained on"), rows=rows).text())
    print(f"mteb {scores[0].version}; its results are in {arguments.out}.")
    return 0
