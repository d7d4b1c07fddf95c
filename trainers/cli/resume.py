"""The verb ``resume``."""

from __future__ import annotations

import argparse
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.cli.work import result, work
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("resume", help="Continue a run from its last checkpoint.")
    parser.add_argument("id")
    parser.add_argument(
        "--more-seeds", type=int, default=0, metavar="N", help="of a sweep that has ended: train it with N more seeds"
    )
    runs_flag(parser)
    parser.set_defaults(run=resume)


def resume(arguments: argparse.Namespace) -> int:
    """Train on, or say that there is nothing to do."""
    folder = RunFolder.open(arguments.runs, arguments.id)
    if arguments.more_seeds:
        from trainers.plans.more_seeds import add_seeds

        add_seeds(folder, arguments.more_seeds)
    if folder.db.state().phase == "finished":
        print(f"Run {folder.id} is finished; there is nothing to resume.\n{result(folder)}")
        return 0
    return work(folder)
