"""The verb ``send``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.errors import UserError
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("send", help="Pause, resume or stop a run that another process trains.")
    parser.add_argument("id")
    parser.add_argument("command", choices=("pause", "resume", "stop"))
    runs_flag(parser)
    parser.set_defaults(run=send)


def send(arguments: argparse.Namespace) -> int:
    """Send a command and print the phase of the run shortly after."""
    folder = RunFolder.open(arguments.runs, arguments.id)
    if not folder.is_alive():
        raise UserError(f"Run {folder.id} is not being trained (it is {folder.state().phase}).")
    folder.send(arguments.command)
    time.sleep(0.5)
    print(folder.state().phase)
    return 0
