"""The verb ``send``."""

from __future__ import annotations

import argparse
import time

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.cli.verb import verb
from trainers.errors import UserError
from trainers.runs import RunFolder


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run.")
    parser.add_argument("message", choices=("pause", "resume", "stop"), help="What to do.")
    runs_flag(parser)
    json_flag(parser)


@verb("send", _equip)
def send(arguments: argparse.Namespace) -> int:
    """Pause, resume or stop a run that another process trains."""
    folder = RunFolder.open(arguments.runs, arguments.id)
    if not folder.is_alive():
        raise UserError(f"Run {folder.id} is not being trained (it is {folder.state().phase}).")
    folder.send(arguments.message)
    time.sleep(0.5)
    phase = folder.state().phase
    if arguments.json:
        print_json({"id": folder.id, "phase": phase})
    else:
        print(phase)
    return 0
