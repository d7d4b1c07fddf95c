"""Tables beside image files, such as ``labels.csv``: which row is about which image, or why they are not used.

file_name,species,genus,split
a/1.jpg,lion,panthera,train

A name is that of an image as seen from the table's own folder, or the end of its path, with or without its ending.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from trainers.data.labelled.splits import is_split
from trainers.data.labelled.table import MOST_ROWS

SUFFIXES = (".csv", ".tsv", ".jsonl")
"""Endings of tables that are read."""
MOST_BYTES = 64_000_000
"""Of all tables of a dataset; the values take several times as much."""
MOST_TABLES = 20
"""Beside the images of a dataset."""
_MOST_COLUMNS = 200
_FIRST = ("metadata", "labels")  # read before tables of other names
_FILES = ("file_name", "filename", "file", "image", "path", "image_path", "image_name", "img", "image_id", "id", "name")
_SPLITS = ("split", "subset", "set", "partition", "fold")
_LOOKED_AT = 1000  # rows that tell which column holds the names of the images
_SHOWN = 3
Cell = str | int | None


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What the tables say of every image, in the order of the images.

    Attributes:
        columns: their values by column; None where no table says one.
        splits: the split of every image; None: no table says any.
        notes: which tables are used for how many images, and why others are not.
    """

    columns: dict[str, list[Cell]]
    splits: list[str] | None
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Written:
    """A table as it is written.

    Attributes:
        parts: of its path below the dataset's folder.
        header: names of the columns; None: its first line is a row like the others.
    """

    parts: tuple[str, ...]
    rows: list[list[Cell]]
    header: list[str] | None

    @property
    def name(self) -> str:
        """Its path."""
        return "/".join(self.parts)


class Names:
    """The images by the names that a table may give them, small and capital letters alike."""

    def __init__(self, images: Sequence[tuple[str, ...]]) -> None:
        self._whole = {_joined(parts): row for row, parts in enumerate(images)}
        self._ends: dict[str, int] = {}
        for row, parts in enumerate(images):
            stem = (*parts[:-1], PurePosixPath(parts[-1]).stem)
            for start in range(len(parts)):
                for end in {_joined(parts[start:]), _joined(stem[start:])}:
                    # -1: several images end so
                    self._ends[end] = row if self._ends.get(end, row) == row else -1

    def row(self, name: str, folder: tuple[str, ...]) -> int | None:
        """Return the image of a name in a table of a folder; None: there is none, or there are several."""
        parts = tuple(part for part in name.strip().replace("\\", "/").split("/") if part not in ("", "."))
        if not parts:
            return None
        whole = self._whole.get(_joined((*folder, *parts)))
        if whole is not None:
            return whole
        for start in range(len(parts)):  # the table may name folders above the dataset's own
            row = self._ends.get(_joined(parts[start:]))
            if row is not None:
                return None if row < 0 else row
        return None


def listed(tables: Sequence[Written | str], images: Sequence[tuple[str, ...]]) -> Listed:
    """Say what tables tell of images.

    Args:
        tables: as :func:`written`; of one that cannot be read the sentence that says so.
        images: their paths below the dataset's folder, as parts.
    """
    notes = [table for table in tables if isinstance(table, str)]
    several = [table for table in tables if isinstance(table, Written)]
    if not several:
        return Listed(columns={}, splits=None, notes=tuple(notes))
    names = Names(images)
    columns: dict[str, list[Cell]] = {}
    owner: list[Written | None] = [None] * len(images)
    for table in sorted(several, key=lambda table: (_rank(table.parts[-1]), len(table.parts))):
        used = _Used.of(table, names)
        if isinstance(used, str):
            notes.append(f"{table.name} is not used: {used}")
            continue
        rows = [(image, row) for image, row in used.rows.items() if owner[image] is None]
        if not rows:
            notes.append(f"{table.name} is not used: other tables are about its images already.")
            continue
        for image, row in rows:
            owner[image] = table
            for name, value in zip(used.header, row, strict=False):
                if name != used.file_column:
                    columns.setdefault(name, [None] * len(images))[image] = value
        notes.append(used.said(len(rows), len(images)))
    splits = _splits(columns, owner)
    return Listed(columns=columns, splits=splits, notes=tuple(notes))


@dataclass(frozen=True, kw_only=True)
class _Used:
    """A table with the column that names images.

    ``rows``: its rows by image; ``unmatched``: names of no image here; ``twice``: names of images that had a row.
    """

    table: Written
    header: list[str]
    file_column: str
    rows: dict[int, list[Cell]]
    unmatched: list[str]
    twice: int

    @classmethod
    def of(cls, table: Written, names: Names) -> _Used | str:
        """Find the column; or say why there is none."""
        folder = table.parts[:-1]
        if not table.rows:
            return "it has no rows."
        width = max(map(len, table.rows))
        header = table.header or _made_up(width)
        if len({*header}) < len(header):
            double = next(name for name, count in Counter(header).items() if count > 1)
            return f"two of its columns are called {double!r:.60}. Rename one of them."

        def meets(column: int) -> int:
            cells = (row[column] for row in islice(table.rows, _LOOKED_AT) if column < len(row))
            return sum(names.row(str(cell), folder) is not None for cell in cells if cell is not None)

        called = [name.strip().lower().replace(" ", "_") for name in header]
        order = sorted(range(len(header)), key=lambda at: _FILES.index(called[at]) if called[at] in _FILES else 99)
        best = max(order, key=meets, default=0)
        if not meets(best):
            likely = order[0]
            if called[likely] not in _FILES:
                return f"none of its columns ({', '.join(header)[:200]}) holds names of images here, such as file_name."
            given = [str(row[likely]) for row in table.rows if likely < len(row) and row[likely] is not None]
            return f"column {header[likely]!r} names no image that is here: {_some(given)}."
        rows: dict[int, list[Cell]] = {}
        unmatched, twice = [], 0
        for row in table.rows:
            cell = row[best] if best < len(row) else None
            image = None if cell is None else names.row(str(cell), folder)
            if image is None:
                unmatched.append(str(cell or ""))
            else:
                twice += image in rows
                rows.setdefault(image, row)
        return cls(table=table, header=header, file_column=header[best], rows=rows, unmatched=unmatched, twice=twice)

    def said(self, count: int, images: int) -> str:
        """Say for how many images it is used, and which names it has beside theirs."""
        text = f"{self.table.name} is used for {count:,} of {images:,} images, by column {self.file_column!r}."
        if self.unmatched:
            plural = (
                "names are of no or several images" if len(self.unmatched) > 1 else "name is of no or several images"
            )
            text += f" {len(self.unmatched):,} of its {plural} here: {_some(self.unmatched)}."
        if self.twice:
            text += f" {self.twice:,} of its rows are about an image that has a row above, and are not used."
        return text


def written(parts: tuple[str, ...], data: bytes | None) -> Written | str:
    """Read the bytes of a table; a sentence where it cannot be read."""
    name = "/".join(parts)
    if data is None:
        return f"{name} is not used: it cannot be read, or the tables have more than {MOST_BYTES // 10**6} MB."
    try:
        text = _text(data)
        if parts[-1].lower().endswith(".jsonl"):
            return _records(parts, text)
        rows = list(islice(_lines(text), MOST_ROWS + 1))
    except (ValueError, csv.Error, RecursionError) as error:
        return f"{name} is not used: it cannot be read as a table ({error})."
    if not rows or max(map(len, rows)) > _MOST_COLUMNS:
        return f"{name} is not used: " + (f"it has more than {_MOST_COLUMNS} columns." if rows else "it is empty.")
    return _with_header(parts, rows)


def _with_header(parts: tuple[str, ...], rows: list[list[Cell]]) -> Written:
    """Take the first line as names of columns, unless one of its cells ends as image files do."""
    first = [str(cell or "").strip() for cell in rows[0]]
    if any(PurePosixPath(cell.lower()).suffix in _IMAGE_ENDINGS for cell in first):
        return Written(parts=parts, rows=rows, header=None)
    header = [name or f"column {number}" for number, name in enumerate(first, 1)]
    return Written(parts=parts, rows=rows[1:], header=header)


_IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif")


def _records(parts: tuple[str, ...], text: str) -> Written:
    """Read a JSON object a line; what is neither text nor a number is left out."""
    header: dict[str, int] = {}
    rows = []
    for line in islice(filter(None, map(str.strip, text.splitlines())), MOST_ROWS):
        record = json.loads(line)
        if not isinstance(record, dict):
            raise ValueError(f"a line is no object: {line[:40]}")
        for name in record:
            if header.setdefault(name, len(header)) >= _MOST_COLUMNS:
                raise ValueError(f"it has more than {_MOST_COLUMNS} columns")
        row: list[Cell] = [None] * len(header)
        for name, value in record.items():
            row[header[name]] = _plain(value)
        rows.append(row)
    return Written(parts=parts, rows=rows, header=list(header))


def _lines(text: str) -> Iterator[list[Cell]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t|", key=first.count)
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if any(cell.strip() for cell in row):
            yield [cell.strip() or None for cell in row]


def _text(data: bytes) -> str:
    """Decode as spreadsheets write it: UTF-8, UTF-16 with its mark, or Windows' own."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def _splits(columns: dict[str, list[Cell]], owner: Sequence[Written | None]) -> list[str] | None:
    """Take the split of every image out of the columns, or from the names of the tables: ``train.csv``."""
    for name in columns:
        values = {str(value) for value in columns[name] if value is not None}
        if name.strip().lower() in _SPLITS and 0 < len(values) <= _LOOKED_AT and all(map(is_split, values)):
            return ["" if value is None else str(value).lower() for value in columns.pop(name)]
    tables = {id(table): PurePosixPath(table.parts[-1]).stem.lower() for table in owner if table is not None}
    if len({*tables.values()}) < 2 or not all(map(is_split, tables.values())):
        return None
    return ["" if table is None else tables[id(table)] for table in owner]


def _plain(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return value
    return value.strip() or None if isinstance(value, str) else None


def _joined(parts: Sequence[str]) -> str:
    return "/".join(parts).casefold()


def _rank(name: str) -> int:
    stem = PurePosixPath(name).stem.lower()
    return _FIRST.index(stem) if stem in _FIRST else len(_FIRST)


def _made_up(width: int) -> list[str]:
    return ["file_name", "label", *(f"column {number}" for number in range(3, width + 1))][:width]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(f"{name:.60}" for name in names[:_SHOWN]) + more
