"""The verb ``push``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verb."""
    text = "Upload the encoder of a run to the Hub, with its settings, its numbers and a model card."
    verbs.add_parser("push", help=text, description=text, equip=_equip)


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run.")
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
    """Write the files of the model, upload them in one commit, and print its address."""
    from trainers.publishing.model import named, write_model
    from trainers.publishing.upload import upload

    folder = RunFolder.open(arguments.runs, arguments.id)
    with tempfile.TemporaryDirectory() as scratch:
        files = write_model(folder, arguments.arm, arguments.to, Path(scratch))
        size = sum(path.stat().st_size for path in files.values())
        if not arguments.json:
            print(f"uploading {len(files)} files, {size / 1e6:.1f} MB, to {arguments.to}", flush=True)
        message = named(folder, arguments.arm)
        url = upload(files, arguments.to, token=None, private=arguments.private, message=message)
    if arguments.json:
        print_json({"url": url, "files": sorted(files), "bytes": size})
    else:
        print(url)
    return 0
