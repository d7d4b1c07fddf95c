"""Bounds on what ``datasets`` unpacks: a few kilobytes of a table or an archive can stand for terabytes."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trainers.data import settings
from trainers.data.hf_errors import file_in
from trainers.data.labelled.table import MOST_ROWS
from trainers.errors import DataError

_ROWS_AT_ONCE = 200  # of a parquet file; `datasets` takes a whole row group, which can be all of a file
_HANDED_ON = 16_000_000  # bytes that are gathered before they are written
_PIECES = 50
_READ = 1 << 20


def bound(builder: Any, source: str) -> Any:
    """Make a builder read a bounded number of rows at a time, rows in all, and bytes in all.

    Rows beyond :data:`trainers.data.labelled.table.MOST_ROWS` of a split are not read; whoever looks sees that there
    were more. More bytes than the largest download raise a DataError while they are read.
    """
    if getattr(builder.config, "batch_size", _ROWS_AT_ONCE) is None:
        builder.config.batch_size = _ROWS_AT_ONCE
    for name, cut in (("_generate_tables", _tables), ("_generate_examples", _examples)):
        inner = getattr(builder, name, None)
        if inner is not None:
            setattr(builder, name, cut(inner, _meter(source), source))
    builder._split_generators = _checking_archives(builder._split_generators, source)
    return builder


def check_files(builder: Any, home: str, source: str) -> None:
    """Refuse a dataset whose card names data files that are not its own: it could name any file of this machine.

    Args:
        home: how the names of its own files begin.

    Raises:
        DataError: with the name of the file.
    """
    for paths in (builder.config.data_files or {}).values():
        for path in paths:
            inner = str(path).rsplit("::", 1)[-1]
            if not inner.startswith(home) or ".." in inner[len(home) :].split("/"):
                raise not_its_own(source)


def not_its_own(source: str) -> DataError:
    """Return the error for a dataset that names files elsewhere."""
    return DataError(f"{source!r} names files that are not its own, so it is not read. Choose another dataset.")


def _checking_archives(inner: Callable[..., Any], source: str) -> Callable[..., Any]:
    """Wrap a generator of splits so that its archives are measured before they are unpacked to the disk."""

    def bounded(manager: Any, *args: Any, **kwargs: Any) -> Any:
        extract = manager.extract

        def measured(paths: Any, *more: Any, **others: Any) -> Any:
            left = settings.download_bytes()
            for path in _flat(paths):
                if Path(path).is_file():
                    check_zip(Path(path), source)
                    left -= check_archive(Path(path), source, left)
            return extract(paths, *more, **others)

        manager.extract = measured
        return inner(manager, *args, **kwargs)

    return bounded


def check_zip(path: Path, source: str) -> None:
    """Refuse a file that is called a zip file and is none, such as a page that says why it was not sent.

    Raises:
        DataError: with its name.
    """
    if path.suffix.lower() == ".zip" and not zipfile.is_zipfile(path):
        raise DataError(f"{path.name!r} of {source!r} is not a readable zip file. Fetch it or pack it again.")


def _flat(paths: Any) -> Iterator[str]:
    if isinstance(paths, (str, Path)):
        yield str(paths)
    else:
        for path in paths.values() if isinstance(paths, dict) else paths:
            yield from _flat(path)


def _meter(source: str) -> Callable[[int], None]:
    """Return a function that counts the bytes read of a source and raises when they are too many."""
    limit, taken = settings.download_bytes(), 0

    def take(count: int) -> None:
        nonlocal taken
        taken += count
        if taken > limit:
            raise too_large(source, limit)

    return take


def too_large(source: str, limit: int) -> DataError:
    """Return the error for a dataset that unpacks to more than may be downloaded."""
    return DataError(
        f"{source!r} unpacks to more than {limit / settings.GB:g} GB, the limit here. Choose a smaller dataset or "
        "subset, or raise RANKSCOPE_DOWNLOAD_GB."
    )


def _tables(inner: Callable[..., Any], take: Callable[[int], None], source: str) -> Callable[..., Iterator[Any]]:
    import pyarrow

    def bounded(*args: Any, **kwargs: Any) -> Iterator[Any]:
        room, held = MOST_ROWS + 1, 0
        waiting: list[Any] = []  # handed on together: writing has a cost for every piece and column
        names: list[str] = []  # of columns
        tables = inner(*args, **kwargs)
        for key, table in tables:
            part = table.slice(0, room)
            take(part.nbytes)
            names = names or part.column_names
            if more := [name for name in part.column_names if name not in names]:
                raise _other_columns(file_in(getattr(tables, "gi_frame", None)), source, names, more)
            if waiting and part.schema != waiting[0].schema:
                yield key, pyarrow.concat_tables(waiting)
                waiting, held = [], 0
            room, held = room - len(part), held + part.nbytes
            waiting.append(part)
            if held > _HANDED_ON or len(waiting) >= _PIECES or room <= 0:
                yield key, pyarrow.concat_tables(waiting)
                waiting, held = [], 0
            if room <= 0:
                return
        if waiting:
            yield key, pyarrow.concat_tables(waiting)

    return bounded


def _other_columns(file: str, source: str, names: list[str], more: list[str]) -> DataError:
    """Return the error for a file with columns that those before it lack."""
    which = f"{file!r} of {source!r}" if file else f"A file of {source!r}"
    return DataError(
        f"{which} has columns that the files before it have not: {', '.join(more)[:200]} beside "
        f"{', '.join(names)[:200]}. Give all files the same columns, or keep those of other columns elsewhere."
    )


def _examples(inner: Callable[..., Any], take: Callable[[int], None], _source: str) -> Callable[..., Iterator[Any]]:
    def bounded(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for number, (key, example) in enumerate(inner(*args, **kwargs)):
            if number > MOST_ROWS:
                return
            take(_held(example))
            yield key, example

    return bounded


def _held(value: Any) -> int:
    """Count the bytes of texts and files in an example."""
    if isinstance(value, (bytes, str)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_held, value.values()))
    return sum(map(_held, value)) if isinstance(value, (list, tuple)) else 8


def check_archive(path: Path, source: str, limit: int) -> int:
    """Return the bytes that an archive unpacks to, 0 for other files; read without writing anything.

    Raises:
        DataError: more than ``limit``.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
    else:
        total = _unpacked_size(path, limit)
    if total > limit:
        raise too_large(source, limit)
    return total


def _unpacked_size(path: Path, limit: int) -> int:
    import bz2
    import gzip
    import lzma

    with path.open("rb") as file:
        start = file.read(6)
    kinds = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
    opened = next((opener for magic, opener in kinds if start.startswith(magic)), None)
    total = 0
    if opened is not None:
        with opened(path, "rb") as stream:
            while total <= limit and (part := stream.read(_READ)):
                total += len(part)
    return total
