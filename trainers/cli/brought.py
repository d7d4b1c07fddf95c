"""The verb ``open``: embeddings from files as a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from trainers.cli.flags import DEFAULT, runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.cli.parser import verb
from trainers.cli.work import described, result


def _equip(parser: argparse.ArgumentParser) -> None:
    files = "Files of embeddings: .npy, .npz, .parquet, .csv or .safetensors, a model each."
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=files)
    labels = f"Columns of the labels, a level each. [{DEFAULT}label, class or target, if it is there]"
    parser.add_argument("--labels", nargs="+", default=(), metavar="COLUMN", help=labels)
    images = f"Folder of the images that a column names, or of one image a row by name. [{DEFAULT}none]"
    parser.add_argument("--images", type=Path, metavar="FOLDER", help=images)
    parser.add_argument("--column", default="", metavar="NAME", help=f"Holds the embeddings. [{DEFAULT}found]")
    parser.add_argument("--steps", action="store_true", help="The files are steps of one model, in order.")
    parser.add_argument("--name", default="", help=f"Of the run. [{DEFAULT}that of the first file]")
    runs_flag(parser)
    json_flag(parser)


@verb("open", _equip)
def show(arguments: argparse.Namespace) -> int:
    """Make a run of embeddings in files, which the page shows and compares like any other."""
    from trainers.brought.opening import open_files

    folder = open_files(
        arguments.runs,
        arguments.files,
        labels=arguments.labels,
        images=arguments.images,
        column=arguments.column,
        steps=arguments.steps,
        name=arguments.name,
    )
    if arguments.json:
        print_json(described(folder))
    else:
        print(f"run {folder.id} in {folder.path}\n{result(folder)}")
    return 0
