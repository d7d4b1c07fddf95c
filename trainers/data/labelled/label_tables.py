"""Tables beside image files, such as ``labels.csv``: which row is about which image, or why they are not used.

file_name,species,genus,split
a/1.jpg,lion,panthera,train

A name is that of an image as seen from the table's own folder, or the end of its path, with or without its ending.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from trainers.cells import some
from trainers.data.labelled.columns import Cell
from trainers.data.labelled.splits import column_note, is_split, says_splits, with_roles
from trainers.data.labelled.table import MOST_ROWS
from trainers.data.names import composed

SUFFIXES = (".csv", ".tsv", ".jsonl")
"""Endings of tables that are read."""
LISTS = (".txt", ".json", ".mat")
"""Endings of further files that may say what the images are."""
_LIST_WORDS = {"label", "labels", "class", "classes", "list", "split", "annotation", "annotations", "images", "index"}
MOST_BYTES = 64_000_000
"""Of all tables of a dataset; the values take several times as much."""
MOST_TABLES = 20
"""Beside the images of a dataset."""
_MOST_COLUMNS = 200
_FIRST = ("metadata", "labels")  # read before tables of other names
_FILES = ("file_name", "filename", "file", "image", "path", "image_path", "image_name", "img", "image_id", "id", "name")
_NAMED_IN = "file column"  # which of several columns names the image
_LOOKED_AT = 1000  # rows that tell which column holds the names of the images
_SHOWN = 3
_DEEPEST = 32  # last parts of a path by which it is found: the ends of a path of thousands would take gigabytes
_ODD_BYTES = re.compile("[\udc80-\udcff]+")


@dataclass(frozen=True, kw_only=True)
class ImageLabels:
    """What the tables say of every image, in the order of the images.

    Attributes:
        columns: their values by column; None where no table says one.
        splits: the split of every image; empty: it has none; None: no table says any.
        roles: of every image of a test of queries and a gallery; None: no table says any.
        notes: which tables are used for how many images, and why others are not.
        unread: why columns that tables have are not read, by name.
    """

    columns: dict[str, list[Cell]]
    splits: list[str] | None
    notes: tuple[str, ...]
    roles: list[str | None] | None = None
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RawTable:
    """A table as it is written.

    Attributes:
        parts: of its path below the dataset's folder.
        header: names of the columns; None: its first line is a row like the others.
        unread: why columns have no cells, by name.
    """

    parts: tuple[str, ...]
    rows: list[list[Cell]]
    header: list[str] | None
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its path."""
        return "/".join(self.parts)


class Names:
    """The images by the names that a table may give them: small and capital letters, and composed and decomposed ones,
    are alike, and a name that is no UTF-8 has that of Windows' own encoding too.
    """

    def __init__(self, images: Sequence[tuple[str, ...]]) -> None:
        self._whole: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._depths = [len(parts) for parts in images]
        for row, parts in enumerate(images):
            for form in {parts, tuple(map(_of_windows, parts))}:
                self._whole[_joined(form)] = row
                stem = (*form[:-1], PurePosixPath(form[-1]).stem)
                for start in range(max(0, len(form) - _DEEPEST), len(form)):
                    for end in {_joined(form[start:]), _joined(stem[start:])}:
                        # -1: several images end so
                        self._ends[end] = row if self._ends.get(end, row) == row else -1

    def row(self, name: str, folder: tuple[str, ...], *, loose: bool = True) -> int | None:
        """Return the image of a name in a table of a folder; None: there is none, or there are several.

        Args:
            loose: an image that lies in another folder than the name says is taken, if only one is called so.
        """
        found = self._row(name, folder, loose)
        return self._row(name.replace("\\", "/"), folder, loose) if found is None and "\\" in name else found

    def _row(self, name: str, folder: tuple[str, ...], loose: bool) -> int | None:
        parts = tuple(part for part in name.strip().split("/") if part not in ("", "."))
        if not parts:
            return None
        whole = self._whole.get(_joined((*folder, *parts)))
        if whole is not None:
            return whole
        # the table may name folders above the dataset's own
        for start in range(max(0, len(parts) - _DEEPEST), len(parts)):
            row = self._ends.get(_joined(parts[start:]))
            if row is not None:
                elsewhere = start and self._depths[row] > len(parts) - start
                return None if row < 0 or (elsewhere and not loose) else row
        return None


def listed(tables: Sequence[RawTable | str], images: Sequence[tuple[str, ...]]) -> ImageLabels:
    """Say what tables tell of images.

    Args:
        tables: as :func:`written`; of one that cannot be read the sentence that says so.
        images: their paths below the dataset's folder, as parts.
    """
    notes = [table for table in tables if isinstance(table, str)]
    several = [table for table in tables if isinstance(table, RawTable)]
    if not several:
        return ImageLabels(columns={}, splits=None, notes=tuple(notes))
    names = Names(images)
    columns: defaultdict[str, list[Cell]] = defaultdict(lambda: [None] * len(images))
    unread: dict[str, str] = {}
    owner: list[RawTable | None] = [None] * len(images)
    for table in sorted(several, key=lambda table: (_rank(table.parts[-1]), len(table.parts))):
        used = _Used.of(table, names)
        if isinstance(used, str):
            notes.append(f"{table.name} is not used: {used}")
            continue
        unread |= table.unread
        rows = [(image, row) for image, row in used.rows.items() if owner[image] is None]
        if not rows:
            notes.append(f"{table.name} is not used: other tables are about its images already.")
            continue
        for image, row in rows:
            owner[image] = table
            for name, value in zip(used.header, row, strict=False):
                if name not in used.file_columns:
                    columns[name][image] = value
            if len(used.file_columns) > 1:
                columns[_NAMED_IN][image] = used.named_in[image]
        notes.append(used.said(len(rows), len(images)))
    splits, said = _splits(columns, owner)
    splits, roles = (None, None) if splits is None else with_roles(splits)
    read = {name: cells for name, cells in columns.items() if name not in unread or any(cells)}
    return ImageLabels(columns=read, splits=splits, notes=(*notes, *said), roles=roles, unread=unread)


@dataclass(frozen=True, kw_only=True)
class _Used:
    """A table with the columns that name images.

    ``rows``: its rows by image; ``named_in``: the column that names an image; ``unmatched``: names of no image here;
    ``twice``: names of images that had a row.
    """

    table: RawTable
    header: list[str]
    file_columns: list[str]
    rows: dict[int, list[Cell]]
    named_in: dict[int, str]
    unmatched: list[str]
    twice: int

    @classmethod
    def of(cls, table: RawTable, names: Names) -> _Used | str:
        """Find the columns; or say why there is none."""
        folder = table.parts[:-1]
        if not table.rows:
            return "it has no rows."
        width = max(map(len, table.rows))
        header = table.header or _made_up(width)
        if len({*header}) < len(header):
            double = next(name for name, count in Counter(header).items() if count > 1)
            return f"two of its columns are called {double!r:.60}. Rename one of them."
        first = list(islice(table.rows, _LOOKED_AT))
        called = [name.strip().lower().replace(" ", "_") for name in header]
        order = sorted(range(len(header)), key=lambda at: _FILES.index(called[at]) if called[at] in _FILES else 99)
        met = {column: _met(first, column, names, folder) for column in order}
        best = max(order, key=lambda column: len(met[column]), default=0)
        if not met[best]:
            likely = order[0]
            if called[likely] not in _FILES:
                return f"none of its columns ({', '.join(header)[:200]}) holds names of images here, such as file_name."
            given = [str(row[likely]) for row in table.rows if likely < len(row) and row[likely] is not None]
            return f"column {header[likely]!r} names no image that is here: {some(given, _SHOWN)}."
        several = [best, *(column for column in order if column != best and _names_others(first, column, met, best))]
        return cls._matched(table, header, several, names)

    @classmethod
    def _matched(cls, table: RawTable, header: list[str], columns: list[int], names: Names) -> _Used:
        """Find the image of every name in these columns; a row is about all images that it names."""
        rows: dict[int, list[Cell]] = {}
        named_in: dict[int, str] = {}
        unmatched, twice = [], 0
        folder = table.parts[:-1]
        # where paths are those of images here, 02.png in another folder is another image
        loose = not any(
            "/" in cell.replace("\\", "/") and names.row(cell, folder, loose=False) is not None
            for row in islice(table.rows, _LOOKED_AT) for column in columns
            if column < len(row) and isinstance(cell := row[column], str)
        )  # fmt: skip
        for row in table.rows:
            for column in columns:
                cell = row[column] if column < len(row) else None
                image = None if cell is None else names.row(str(cell), folder, loose=loose)
                if image is None:
                    if cell is not None or len(columns) == 1:
                        unmatched.append(str(cell or ""))
                else:
                    twice += image in rows
                    rows.setdefault(image, row)
                    named_in.setdefault(image, header[column])
        return cls(
            table=table,
            header=header,
            file_columns=[header[column] for column in columns],
            rows=rows,
            named_in=named_in,
            unmatched=unmatched,
            twice=twice,
        )

    def said(self, count: int, images: int) -> str:
        """Say for how many images it is used, and which names it has beside theirs."""
        which = " and ".join(map(repr, self.file_columns))
        plural = "s" if len(self.file_columns) > 1 else ""
        text = f"{self.table.name} is used for {count:,} of {images:,} images, by column{plural} {which}."
        if self.unmatched:
            plural = (
                "names are of no or several images" if len(self.unmatched) > 1 else "name is of no or several images"
            )
            text += f" {len(self.unmatched):,} of its {plural} here: {some(self.unmatched, _SHOWN)}."
        if self.twice:
            text += f" {self.twice:,} of its rows are about an image that has a row above, and are not used."
        return text


def _met(rows: Sequence[list[Cell]], column: int, names: Names, folder: tuple[str, ...]) -> list[int]:
    """Return the images that cells of a column name."""
    cells = (row[column] for row in rows if column < len(row) and row[column] is not None)
    return [image for cell in cells if (image := names.row(str(cell), folder)) is not None]


def _names_others(rows: Sequence[list[Cell]], column: int, met: Mapping[int, list[int]], best: int) -> bool:
    """Return whether a column names images, each once, that the best column does not name."""
    given = sum(column < len(row) and row[column] is not None for row in rows)
    images = {*met[column]}
    return 2 * len(images) >= given > 0 and len(images) == len(met[column]) and not images & {*met[best]}


def is_table(name: str) -> bool:
    """Return whether a file of this name is read as a table: of texts those that are called as lists are."""
    stem, _, ending = name.lower().rpartition(".")
    words = {*re.findall("[a-z]+", stem)}
    return f".{ending}" in SUFFIXES or (ending == "txt" and (is_split(stem) or bool(words & _LIST_WORDS)))


def written(parts: tuple[str, ...], data: bytes | None) -> RawTable | str:
    """Read the bytes of a table; a sentence where it cannot be read."""
    name = "/".join(parts)
    if data is None:
        return f"{name} is not used: it cannot be read, or the tables have more than {MOST_BYTES // 10**6} MB."
    try:
        text = decoded(data)
        if parts[-1].lower().endswith(".jsonl"):
            return _records(parts, text)
        if parts[-1].lower().endswith(".txt"):
            return _list(parts, text)
        rows = list(islice(_lines(text), MOST_ROWS + 1))
    except (ValueError, csv.Error, RecursionError) as error:
        return f"{name} is not used: it cannot be read as a table ({error})."
    if not rows or max(map(len, rows)) > _MOST_COLUMNS:
        return f"{name} is not used: " + (f"it has more than {_MOST_COLUMNS} columns." if rows else "it is empty.")
    return _with_header(parts, rows)


def _with_header(parts: tuple[str, ...], rows: list[list[Cell]]) -> RawTable:
    """Take the first line as names of columns, unless one of its cells ends as image files do."""
    first = [composed(str(cell or "").strip()) for cell in rows[0]]
    if any(PurePosixPath(cell.lower()).suffix in _IMAGE_ENDINGS for cell in first):
        return RawTable(parts=parts, rows=rows, header=None)
    header = [name or f"column {number}" for number, name in enumerate(first, 1)]
    return RawTable(parts=parts, rows=rows[1:], header=header)


_IMAGE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif")


def _list(parts: tuple[str, ...], text: str) -> RawTable | str:
    """Read a list: a line per image, its name and more of it, divided by commas and the like or by blanks.

    Lines of different lengths have blanks in their names, and the last word is the label. A first line is names of
    columns if its first word is one for images.
    """
    lines = list(islice(filter(None, map(str.strip, text.splitlines())), MOST_ROWS))
    divided = lines and any(mark in lines[0] for mark in ",;\t|")
    rows: list[list[Cell]] = [*islice(_lines(text), MOST_ROWS)] if divided else [[*line.split()] for line in lines]
    if not divided and len({*map(len, rows)}) > 1:
        rows = [[*line.rsplit(None, 1)] for line in lines]
    if not rows or max(map(len, rows)) > _MOST_COLUMNS:
        return f"{'/'.join(parts)} is not used: it is no list of images."
    headed = str(rows[0][0]).lower() in _FILES and len(rows) > 1
    if headed:
        return _with_header(parts, rows)
    return RawTable(parts=parts, rows=rows, header=None)


def _records(parts: tuple[str, ...], text: str) -> RawTable:
    """Read a JSON object a line; what is neither text nor a number is left out."""
    header: dict[str, int] = {}
    unread: dict[str, str] = {}
    rows = []
    for line in islice(filter(None, map(str.strip, text.splitlines())), MOST_ROWS):
        record = json.loads(line)
        if not isinstance(record, dict):
            raise ValueError(f"a line is no object: {line[:40]}")
        for name in map(composed, record):
            if header.setdefault(name, len(header)) >= _MOST_COLUMNS:
                raise ValueError(f"it has more than {_MOST_COLUMNS} columns")
        row: list[Cell] = [None] * len(header)
        for name, value in record.items():
            alone = value[0] if isinstance(value, list) and len(value) == 1 else value
            if isinstance(alone, (list, dict)) and alone:
                unread[composed(name)] = "its values are lists" if isinstance(alone, list) else "its values are objects"
            row[header[composed(name)]] = _plain(alone)
        rows.append(row)
    return RawTable(parts=parts, rows=rows, header=list(header), unread=unread)


def _lines(text: str) -> Iterator[list[Cell]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t|", key=first.count)
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if any(cell.strip() for cell in row):
            yield [cell.strip() or None for cell in row]


def decoded(data: bytes) -> str:
    """Decode as spreadsheets write it: UTF-8, UTF-16 with its mark, or Windows' own."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def _splits(
    columns: dict[str, list[Cell]], owner: Sequence[RawTable | None]
) -> tuple[list[str] | None, tuple[str, ...]]:
    """Take the split of every image out of the columns, or from the names of the tables: ``train.csv``."""
    for name in columns:
        values = {str(value) for value in columns[name] if value is not None}
        if says_splits(name, values):
            given = ["" if value is None else str(value) for value in columns.pop(name)]
            return given, tuple(column_note(name, values))
    tables = {id(table): PurePosixPath(table.parts[-1]).stem.lower() for table in owner if table is not None}
    if len({*tables.values()}) < 2 or not all(map(is_split, tables.values())):
        return None, ()
    return ["" if table is None else tables[id(table)] for table in owner], ()


def _plain(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return str(value) if value == value else None
    return value.strip() or None if isinstance(value, str) else None


def _joined(parts: Sequence[str]) -> str:
    return composed(composed("/".join(parts)).casefold())


def _of_windows(part: str) -> str:
    """Read bytes of a name that are no UTF-8 as Windows has them in the west."""
    if part.isascii():
        return part
    return _ODD_BYTES.sub(lambda met: met[0].encode("utf-8", "surrogateescape").decode("cp1252", "replace"), part)


def _rank(name: str) -> int:
    stem = PurePosixPath(name).stem.lower()
    return _FIRST.index(stem) if stem in _FIRST else len(_FIRST)


def _made_up(width: int) -> list[str]:
    return ["file_name", "label", *(f"column {number}" for number in range(3, width + 1))][:width]
