"""The verbs ``open`` and ``import``: embeddings from files as a run, and runs from the zip of a download."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from trainers import PAGE, search_path
from trainers.cli.flags import DEFAULT, runs_flag
from trainers.cli.output import json_flag, print_json, progress_bar
from trainers.cli.parser import verb
from trainers.cli.work import described, result
from trainers.runs.naming import whole_id


def _equip(parser: argparse.ArgumentParser) -> None:
    files = (
        "Files of embeddings, a model each, and tables of labels: .npy, .npz, .parquet, .csv, .tsv, .txt, "
        ".safetensors, .pt, .h5, .feather, .fvecs, .fbin and others; a folder of images, with or without classes, for "
        "a map of published features; a zip of Download; or a run, to see on the page."
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help=files)
    labels = (
        "Columns of the labels, a level each, or a table of them: labels.csv, or labels.csv:species,genus. "
        f"[{DEFAULT}label, class or target, or a chain of columns that are classes]"
    )
    parser.add_argument("--labels", nargs="+", default=(), metavar="COLUMN", help=labels)
    which = f"Which files hold the embeddings, where it is not clear; the others hold labels. [{DEFAULT}found]"
    parser.add_argument("--embeddings", nargs="+", type=Path, default=(), metavar="FILE", help=which)
    images = f"Folder of the images that a column names, or of one image a row by name. [{DEFAULT}none]"
    parser.add_argument("--images", type=Path, metavar="FOLDER", help=images)
    parser.add_argument("--column", default="", metavar="NAME", help=f"Holds the embeddings. [{DEFAULT}found]")
    parser.add_argument("--steps", action="store_true", help="The files are steps of one model, in order.")
    parser.add_argument("--name", default="", help=f"Of the run. [{DEFAULT}that of the first file]")
    runs_flag(parser)
    json_flag(parser)


@verb("open", _equip)
def show(arguments: argparse.Namespace) -> int:
    """Make a run of embeddings in files, or of a folder of images, shown like any other; or open the page at a run."""
    from trainers.brought.formats import ENDINGS
    from trainers.brought.opening import open_files

    files: list[Path] = arguments.files
    if len(files) == 1 and files[0].is_dir():
        return _images(arguments)
    if len(files) == 1 and not (files[0].exists() or files[0].suffix.lower() in (*ENDINGS, ".zip")):
        return _page(arguments.runs, str(files[0]))
    if len(files) == 1 and files[0].suffix.lower() == ".zip":
        return take_in.run(argparse.Namespace(file=files[0], runs=arguments.runs, json=arguments.json))
    folder = open_files(
        arguments.runs,
        files,
        labels=arguments.labels,
        images=arguments.images,
        column=arguments.column,
        steps=arguments.steps,
        name=arguments.name,
        embeddings=arguments.embeddings,
    )
    if arguments.json:
        print_json(described(folder))
    else:
        probe = folder.probe()
        print("\n".join([f"run {folder.id} in {folder.path}", *(probe.notes if probe else ()), result(folder)]))
    return 0


def _images(arguments: argparse.Namespace) -> int:
    """Make a run of a folder of images: the map of the encoder that comes with the program."""
    from trainers.brought.image_folder import open_images

    with progress_bar() as tell:
        folder, finish = open_images(arguments.runs, str(arguments.files[0]), name=arguments.name, tell=tell)
        finish()
    if arguments.json:
        print_json(described(folder))
        return 0
    probe = folder.probe()
    print(f"run {folder.id} in {folder.path}")
    print("\n".join(f"note: {note}" for note in (() if probe is None else probe.notes)))
    print(f"To see its map: python -m trainers open {folder.id}")
    return 0


def _page(runs: Path, word: str) -> int:
    """Serve the page, with a browser at the run that a word means, until it is interrupted."""
    command = [sys.executable, "-m", PAGE, "--runs", str(runs), "--run", whole_id(runs, word)]
    environment = {**os.environ, "PYTHONPATH": search_path()}
    if os.name == "posix":  # this process becomes the page, which ends by itself what trains when it is told to end
        os.execve(sys.executable, command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


def _equip_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="A zip that the page's Download gave.")
    runs_flag(parser)
    json_flag(parser)


@verb("import", _equip_import)
def take_in(arguments: argparse.Namespace) -> int:
    """Take in a run or a sweep that was downloaded elsewhere; nothing in the zip is trusted."""
    from trainers.brought.imported import import_zip

    with progress_bar() as tell:
        ids = import_zip(arguments.file, arguments.runs, tell)
    if arguments.json:
        print_json({"ids": ids})
    else:
        print(f"imported {ids[0]}" + (f" and its {len(ids) - 1} runs" if len(ids) > 1 else ""))
    return 0
