"""The verb ``push``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.cli.verb import verb
from trainers.progress import Progress
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.publishing.push import Pushed


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run, sweep or fair comparison.")
    target_flags(parser)
    parser.add_argument(
        "--arm",
        type=int,
        default=0,
        metavar="N",
        help="Which loss, method or recipe of the run, counted from 0. [default: 0]",
    )
    runs_flag(parser)
    json_flag(parser)


def target_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where to."""
    parser.add_argument(
        "--to",
        required=True,
        metavar="OWNER/NAME",
        help="Repository; made if it is not there. [default: none; it is needed]",
    )
    parser.add_argument("--private", action="store_true", help="Make the repository a private one.")


@verb("push", _equip)
def push(arguments: argparse.Namespace) -> int:
    """Upload the encoder of a run to the Hub as a model, or a sweep or fair comparison as a dataset, with a card."""
    from trainers.publishing.push import push as pushed
    from trainers.publishing.upload import Target

    folder = RunFolder.open(arguments.runs, arguments.id)
    target = Target(name=arguments.to, private=arguments.private)
    return print_pushed(pushed(folder, target, lines(arguments.json), arm=arguments.arm), arguments.json)


def lines(silently: bool) -> Progress:
    """Return a progress function that prints each new text as a line, or nothing."""
    said: list[str] = []

    def tell(text: str, _fraction: float) -> None:
        if not silently and said[-1:] != [text]:
            said.append(text)
            print(text, flush=True)

    return tell


def print_pushed(done: Pushed, as_json: bool) -> int:
    """Print what was uploaded."""
    if as_json:
        print_json({"url": done.url, "files": list(done.files), "bytes": done.bytes})
    else:
        print(done.url)
    return 0
