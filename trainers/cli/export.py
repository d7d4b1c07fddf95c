"""The verb ``export``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from trainers.cli.flags import runs_flag
from trainers.errors import DiskFullError, UserError
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("export", help="Write the encoder of a run as a safetensors file, without its head.")
    parser.add_argument("id")
    parser.add_argument(
        "--arm", type=int, default=0, help="which loss, method or recipe of the run, from 0 (default: 0)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("encoder.safetensors"),
        help="file to write; one that is there is replaced (default: encoder.safetensors)",
    )
    runs_flag(parser)
    parser.set_defaults(run=export)


def export(arguments: argparse.Namespace) -> int:
    """Write the file."""
    from trainers.training.encoder_file import RunEncoders

    folder = RunFolder.open(arguments.runs, arguments.id)
    encoders = RunEncoders(folder)
    try:
        encoders.write(arguments.arm, arguments.out)
    except DiskFullError as error:
        raise DiskFullError(f"Free some space, then export again; {arguments.out} is not written.") from error
    except OSError as error:
        raise UserError(f"{arguments.out} cannot be written: {error.strerror or error}.") from error
    print(f"wrote {arguments.out} ({arguments.out.stat().st_size:,} bytes)")
    return 0
