"""The verb ``push``."""

from __future__ import annotations

import argparse
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verb."""
    text = "Upload the encoder of a run to the Hub as a model, or a sweep or fair comparison as a dataset, with a card."
    verbs.add_parser("push", help=text, description=text, equip=_equip)


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run, sweep or fair comparison.")
    parser.add_argument(
        "--to",
        required=True,
        metavar="OWNER/NAME",
        help="Repository; made if it is not there. [default: none; it is needed]",
    )
    parser.add_argument(
        "--arm",
        type=int,
        default=0,
        metavar="N",
        help="Which loss, method or recipe of the run, counted from 0. [default: 0]",
    )
    parser.add_argument("--private", action="store_true", help="Make the repository a private one.")
    runs_flag(parser)
    json_flag(parser)
    parser.set_defaults(run=push)


def push(arguments: argparse.Namespace) -> int:
    """Write the files, upload them in one commit, and print its address."""
    from trainers.publishing.push import push as pushed
    from trainers.publishing.upload import Target

    folder = RunFolder.open(arguments.runs, arguments.id)
    target = Target(name=arguments.to, private=arguments.private)
    said: list[str] = []

    def tell(text: str, _fraction: float) -> None:
        if not arguments.json and said[-1:] != [text]:
            said.append(text)
            print(text, flush=True)

    done = pushed(folder, target, tell, arm=arguments.arm)
    if arguments.json:
        print_json({"url": done.url, "files": list(done.files), "bytes": done.bytes})
    else:
        print(done.url)
    return 0
