"""Runs among what is dropped on the page: a run that was downloaded elsewhere, or files of embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainers.brought.files import NAMES, PICTURES, NoEmbeddingsError, is_list, is_text, read
from trainers.brought.formats import ENDINGS, TEXTS
from trainers.brought.imported import import_zip, is_download
from trainers.brought.opening import open_files
from trainers.data.image_file import SUFFIXES
from trainers.errors import DataError

_TABLES = (".parquet", ".jsonl", ".arrow", *TEXTS)
"""Of these some are tables of images, or beside images."""


def taken_in(dropped: Path, runs: Path) -> str | None:
    """Make a run of what was dropped.

    Args:
        dropped: a zip file, or a folder.
        runs: folder of the runs.

    Returns:
        its id; of a sweep that of the sweep. None: these are images.

    Raises:
        UserError: it is a run that cannot be read, or embeddings that cannot; says why.
    """
    if dropped.is_file():
        return import_zip(dropped, runs)[0] if is_download(dropped) else None
    top = sorted(dropped.iterdir())
    files = [file for file in top if file.is_file() and file.suffix.lower() in ENDINGS]
    others = [file for file in top if file not in files]
    if not files or any(file.is_file() and file.suffix.lower() not in SUFFIXES for file in others):
        return None
    tables = [file for file in files if file.suffix.lower() in _TABLES]
    if others and tables == files:  # tables beside images are about these
        return None
    if tables == files and not any(map(_has_embeddings, tables)):
        return None
    return open_files(runs, files, images=dropped if others else None).id


def _has_embeddings(file: Path) -> bool:
    """Return whether a table holds embeddings, if perhaps such that cannot be read."""
    if file.suffix.lower() == ".parquet" and not _may_have(file):
        return False  # before its images are read
    try:
        read(file)
    except NoEmbeddingsError:
        return False
    except DataError as error:
        return file.suffix.lower() == ".parquet" or "cells" not in str(error)
    return True


def _may_have(file: Path) -> bool:
    """Return whether columns of a Parquet file may be embeddings; beside images, which may have boxes, only those that
    are named so.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(file, memory_map=False)
    except (arrow.ArrowException, OSError):
        return False
    pictured = any(name.lower() in PICTURES or arrow.types.is_struct(schema.field(name).type) for name in schema.names)
    wide = {field.name for field in schema if is_list(field.type) or is_text(field.type)}
    if any(name.lower() in NAMES for name in wide):
        return True
    return not pictured and any(is_list(field.type) or _is_counted(field) for field in schema)


def _is_counted(field: Any) -> bool:
    import pyarrow as arrow

    return bool(field.name[-1:].isdigit() and arrow.types.is_floating(field.type))
