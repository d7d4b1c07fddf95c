"""Runs among what is dropped on the page: a run that was downloaded elsewhere, or files of embeddings."""

from __future__ import annotations

from pathlib import Path

from trainers.brought.files import NAMES, PICTURES, READERS, Table, read
from trainers.brought.imported import import_zip, is_download
from trainers.brought.opening import open_files
from trainers.errors import UserError

ENDINGS = tuple(READERS)
_TABLES = (".parquet", ".csv")
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
    files = sorted(dropped.iterdir())
    if not files or any(file.is_dir() or file.suffix.lower() not in ENDINGS for file in files):
        return None
    known = {}
    for file in files:
        if file.suffix.lower() in _TABLES:
            if (table := _embeddings(file)) is None:
                return None
            known[file] = table
    return open_files(runs, files, known=known).id


def _embeddings(file: Path) -> Table | None:
    """Return the embeddings in a table; None: it holds none."""
    if file.suffix.lower() == ".parquet" and not _has_lists(file):
        return None  # before its images are read
    try:
        return read(file)
    except UserError:
        return None


def _has_lists(file: Path) -> bool:
    """Return whether a column of a Parquet file holds several numbers a row; beside images, which may have boxes, only
    one that is named like embeddings does.
    """
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(file, memory_map=False)
    except (arrow.ArrowException, OSError):
        return False
    lists = (arrow.types.is_list, arrow.types.is_large_list, arrow.types.is_fixed_size_list)
    inner = {field.name: field.type.value_type for field in schema if any(is_list(field.type) for is_list in lists)}
    wide = {name for name, kind in inner.items() if arrow.types.is_floating(kind) or arrow.types.is_integer(kind)}
    pictured = any(name.lower() in PICTURES or arrow.types.is_struct(schema.field(name).type) for name in schema.names)
    return any(name.lower() in NAMES for name in wide) if pictured else bool(wide)
