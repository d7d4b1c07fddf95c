"""The verb ``send``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.errors import UserError
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verb."""
    text = "Pause, resume or stop a run that another process trains."
    verbs.add_parser("send", help=text, description=text, equip=_equip)


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run.")
    parser.add_argument("message", choices=("pause", "resume", "stop"), help="What to do.")
    runs_flag(parser)
    json_flag(parser)
    parser.set_defaults(run=send)


def send(arguments: argparse.Namespace) -> int:
    """Send a command and print the phase of the run shortly after."""
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
