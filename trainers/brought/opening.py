"""Makes a run of files of embeddings: several are several models, or steps of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainers.brought.files import Table, read
from trainers.brought.writer import BroughtRun
from trainers.errors import DataError
from trainers.runs import RunFolder
from trainers.runs.label import NAME, Label, write_label

LABELS = ("label", "labels", "class", "classes", "target", "targets", "y", "category")
"""Names of columns that hold labels, where none is named."""


def open_files(
    root: Path,
    files: Sequence[Path],
    *,
    labels: Sequence[str] = (),
    images: Path | None = None,
    column: str = "",
    steps: bool = False,
    name: str = "",
    known: Mapping[Path, Table] | None = None,
) -> RunFolder:
    """Write a finished run that shows the embeddings in files.

    Args:
        root: folder of the runs.
        files: of as many rows each, in the same order of images; labels and images are of the first one.
        labels: columns that hold the labels, a level each; empty: one of :data:`LABELS`, if it is there.
        images: folder of the images that a column names, or, without such a column, of one image a row by name.
        column: what holds the embeddings; empty: found.
        steps: the files are steps of one model; otherwise a model each.
        name: of the run; empty: that of the first file.
        known: what files hold that were read already.

    Raises:
        UserError: what was needed, and what was given.
    """
    if not files:
        raise DataError("At least one file of embeddings was needed; got none.")
    known = known or {}
    tables = [known[path] if path in known else read(path, column) for path in files]
    for path, table in zip(files, tables, strict=True):
        if len(table.embeddings) != len(tables[0].embeddings):
            rows = f"{len(tables[0].embeddings):,} rows, as in {files[0].name}"
            raise DataError(f"{rows}, were needed in every file; {path.name} has {len(table.embeddings):,}.")
    first = tables[0]
    levels = first.labels(labels) if labels else _found_labels(first)
    title = name or files[0].stem
    models = [title] if steps else [path.stem for path in files]
    run = BroughtRun(root, title, models, levels, _pictures(first, images), len(first.embeddings))
    try:
        if steps:
            for step, table in enumerate(tables):
                run.snapshot(step, [table.embeddings])
        else:
            run.snapshot(0, [table.embeddings for table in tables])
        run.finish()
    except BaseException:
        run.give_up()
        raise
    write_label(run.folder.path, Label(name=" ".join(title.split())[:NAME]))
    return run.folder


def _found_labels(table: Table) -> Mapping[str, Sequence[Any]]:
    found = [name for name in table.columns if name.lower() in LABELS]
    return table.labels(found)


def _pictures(table: Table, folder: Path | None) -> Sequence[Any] | None:
    """Return an image a row, as paths or bytes; None: there are none."""
    column = table.pictures
    if folder is not None and not folder.is_dir():
        raise DataError(f"A folder of images was needed; there is none at {folder}.")
    if column:
        values = table.columns[column]
        if folder is None:
            return [value if isinstance(value, (bytes, dict)) else None for value in values]
        return [_below(folder, value) if isinstance(value, str) else value for value in values]
    if folder is None:
        return None
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    if len(paths) != len(table.embeddings):
        raise DataError(
            f"An image for each of {len(table.embeddings):,} rows was needed; {folder} has {len(paths):,} files. A "
            "column of paths, named path, tells which is which."
        )
    return paths


def _below(folder: Path, name: str) -> Path | None:
    """Return a file below a folder; None where a path leads out of it."""
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder.resolve()) else None
