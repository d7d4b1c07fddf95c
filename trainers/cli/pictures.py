"""The verb that makes a film of a run's maps."""

from __future__ import annotations

import argparse
from pathlib import Path

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json, progress_bar
from trainers.cli.parser import RUN, RunNames, verb
from trainers.errors import UserError
from trainers.runs import RunFolder


def _equip_film(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=RUN)
    from trainers.pictures.film import FORMATS, SECONDS, SIZES, lacking

    told = f"File to write; it ends in {', '.join(f'.{name}' for name in FORMATS)}. One that is there is replaced."
    lacks = lacking("mp4")
    out = Path("maps.webp" if lacks else "maps.mp4")
    parser.add_argument("--out", type=Path, default=out, metavar="FILE", help=f"{told} {lacks}".rstrip())
    parser.add_argument(
        "--seconds", type=float, default=10.0, help=f"How long the film is, from {SECONDS[0]} to {SECONDS[1]}."
    )
    sizes = " or ".join(f"{name} ({width} x {height})" for name, (width, height) in SIZES.items())
    parser.add_argument("--size", default="720p", help=f"{sizes}; a GIF has half of it.")
    runs_flag(parser)
    json_flag(parser)


@verb("film", _equip_film)
def film(arguments: argparse.Namespace) -> int:
    """Write a film of a run's maps with step and numbers, of those that the page has drawn."""
    from trainers.pictures.film import write_film

    folder = RunFolder.open(arguments.runs, arguments.id)
    try:
        with progress_bar() as tell:
            write_film(folder, arguments.out, seconds=arguments.seconds, size=arguments.size, tell=tell)
    except OSError as error:
        raise UserError(f"{arguments.out} cannot be written: {error.strerror or error}.") from error
    size = arguments.out.stat().st_size
    if arguments.json:
        print_json({"path": str(arguments.out), "bytes": size})
    else:
        print(f"wrote {arguments.out} ({size:,} bytes)")
    return 0
