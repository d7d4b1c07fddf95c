"""The verbs that give an encoder or a comparison away: ``export`` to a file, ``push`` to the Hub."""

from __future__ import annotations

import argparse
from pathlib import Path

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.cli.parser import verb
from trainers.errors import DiskFullError, UserError
from trainers.progress import Progress
from trainers.runs import RunFolder


def _equip_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run.")
    parser.add_argument(
        "--arm", type=int, default=0, metavar="N", help="Which loss, method or recipe of the run, counted from 0."
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("encoder.safetensors"),
        metavar="FILE",
        help="File to write; one that is there is replaced.",
    )
    runs_flag(parser)
    json_flag(parser)


@verb("export", _equip_export)
def export(arguments: argparse.Namespace) -> int:
    """Write the encoder of a run as a safetensors file, without its head."""
    from trainers.training.encoder_file import RunEncoders

    folder = RunFolder.open(arguments.runs, arguments.id)
    encoders = RunEncoders(folder)
    try:
        encoders.write(arguments.arm, arguments.out)
    except DiskFullError as error:
        raise DiskFullError(f"Free some space, then export again; {arguments.out} is not written.") from error
    except OSError as error:
        raise UserError(f"{arguments.out} cannot be written: {error.strerror or error}.") from error
    size = arguments.out.stat().st_size
    if arguments.json:
        print_json({"path": str(arguments.out), "bytes": size})
    else:
        print(f"wrote {arguments.out} ({size:,} bytes)")
    return 0


def _equip_push(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run, sweep or fair comparison.")
    parser.add_argument(
        "--to",
        required=True,
        metavar="OWNER/NAME",
        help="Repository; made if it is not there. [default: none; it is needed]",
    )
    parser.add_argument("--private", action="store_true", help="Make the repository a private one.")
    parser.add_argument(
        "--arm",
        type=int,
        default=0,
        metavar="N",
        help="Which loss, method or recipe of the run, counted from 0. [default: 0]",
    )
    runs_flag(parser)
    json_flag(parser)


@verb("push", _equip_push)
def push(arguments: argparse.Namespace) -> int:
    """Upload the encoder of a run to the Hub as a model, or a sweep or fair comparison as a dataset, with a card."""
    from trainers.publishing.upload import Target
    from trainers.publishing.upload import push as pushed

    folder = RunFolder.open(arguments.runs, arguments.id)
    target = Target(name=arguments.to, private=arguments.private)
    done = pushed(folder, target, _lines(arguments.json), arm=arguments.arm)
    if arguments.json:
        print_json({"url": done.url, "files": list(done.files), "bytes": done.bytes})
    else:
        print(done.url)
    return 0


def _lines(silently: bool) -> Progress:
    """Return a progress function that prints each new text as a line, or nothing."""
    said: list[str] = []

    def tell(text: str, _fraction: float) -> None:
        if not silently and said[-1:] != [text]:
            said.append(text)
            print(text, flush=True)

    return tell
