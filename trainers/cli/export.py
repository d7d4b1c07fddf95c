"""The verb ``export``."""

from __future__ import annotations

import argparse
from pathlib import Path

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.cli.verb import verb
from trainers.errors import DiskFullError, UserError
from trainers.runs import RunFolder


def _equip(parser: argparse.ArgumentParser) -> None:
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


@verb("export", _equip)
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
