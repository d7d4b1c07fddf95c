"""The verb ``list``."""

from __future__ import annotations

import argparse
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.errors import UserError
from trainers.kinds import kind_of
from trainers.runs import list_runs


def add(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("list", help="List the runs, newest first.")
    runs_flag(parser)
    parser.set_defaults(run=show)


def show(arguments: argparse.Namespace) -> int:
    """Print a line per run; a damaged one says what is wrong."""
    if arguments.runs.exists() and not arguments.runs.is_dir():
        raise UserError(f"A folder of runs was needed; {arguments.runs} is a file.")
    for folder in list_runs(arguments.runs):
        try:
            state, what = folder.state(), kind_of(folder.config).line(folder.config)
        except UserError as error:
            print(f"{folder.id}  damaged: {error}")
            continue
        print(f"{folder.id}  {state.phase:<12} step {state.step:<7} {what}")
    return 0
