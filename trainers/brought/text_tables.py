"""Tables of text: with a head or without one, with any of the usual marks between the cells."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from trainers.errors import DataError

NUMBER = re.compile(r"\s*[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)\s*", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[-+]?\d+\s*")
_LOOKED_AT = 2**22  # bytes of the beginning, which tell how a file is written
_HEADS = {"label", "labels", "class", "classes", "species", "genus", "target", "category", "name", "path", "file"}
_PICTURE = re.compile(r".+\.(?:jpe?g|png|webp|bmp|gif|tiff?|avif)", re.IGNORECASE)


def read_text_table(path: Path, count: int | None = None) -> dict[str, Any]:
    """Return the columns of a table of text, columns of texts of Arrow, by name.

    Args:
        count: rows that are expected; None: not known.

    Raises:
        DataError: it is empty, or a line has another number of cells.
    """
    import pyarrow as arrow

    lines, encoding = _beginning(path)
    skipped = _comments(lines)
    mark = _mark(lines[skipped:], path.suffix.lower())
    if mark in ("", " "):
        columns = _split(path, encoding, skipped, mark, count)
    else:
        columns = _read(path, encoding, skipped, mark, lines)
    first = [str(column[0].as_py()) for column in columns]
    if _has_head(path, columns, first, count):
        head = [name.removeprefix("#").strip() if at == 0 and skipped == 0 else name for at, name in enumerate(first)]
        names = [name if head.index(name) == at else f"{name} {at}" for at, name in enumerate(head)]
        columns = [column.slice(1) for column in columns]
    else:
        names = _made_up(columns)
    if not len(columns[0]):
        raise DataError(f"{path.name} has a head and no rows.")
    return {name: column.cast(arrow.string()) for name, column in zip(names, columns, strict=True)}


def _beginning(path: Path) -> tuple[list[str], str]:
    with path.open("rb") as file:
        raw = file.read(_LOOKED_AT)
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start >= len(raw) - 4:  # cut within a letter
            text = raw[: error.start].decode(encoding)
        else:
            text, encoding = raw.decode("cp1252", "replace"), "cp1252"
    if not text.strip():
        raise DataError(f"{path.name} is empty.")
    return text.splitlines(), encoding


def _comments(lines: list[str]) -> int:
    """Count the lines of a comment before the table; one with as many cells as the next line is the head."""
    at = 0
    while at + 1 < len(lines) and lines[at].startswith("#"):
        if lines[at].count(",") == lines[at + 1].count(",") and lines[at].count("\t") == lines[at + 1].count("\t"):
            cells = re.split(r"[,;\s]", lines[at + 1].strip())
            if lines[at].count(",") + lines[at].count("\t") or all(not NUMBER.fullmatch(cell) for cell in cells):
                break
        at += 1
    return at


def _mark(lines: list[str], ending: str) -> str:
    """Return what stands between the cells; empty: a line is a cell."""
    first = lines[0]
    if ending == ".tsv":
        return "\t"
    mark = max(",;\t", key=first.count)
    if first.count(mark):
        return mark
    looked = [line.split() for line in lines[:5] if line.strip()]
    spaced = len(looked[0]) > 2 and all(
        len(parts) == len(looked[0]) and all(map(NUMBER.fullmatch, parts[1:])) for parts in looked
    )
    return " " if spaced else "" if ending == ".txt" else ","


def _split(path: Path, encoding: str, skipped: int, mark: str, count: int | None) -> list[Any]:
    import pyarrow as arrow

    lines = path.read_text(encoding=encoding).splitlines()[skipped:]
    while lines and not lines[-1].strip() and len(lines) != count:
        lines.pop()
    if not mark:
        return [arrow.chunked_array([[line.strip() for line in lines]], arrow.string())]
    rows = [line.split() for line in lines if line.strip()]
    _refuse_ragged(path, [len(row) for row in rows])
    return [arrow.chunked_array([[row[at] for row in rows]], arrow.string()) for at in range(len(rows[0]))]


def _refuse_ragged(path: Path, widths: list[int]) -> None:
    bad = next((at for at, width in enumerate(widths, start=1) if width != widths[0]), 0)
    if bad:
        raise DataError(f"Line {bad} of {path.name} has another number of cells than the first one, {widths[0]}.")


def _read(path: Path, encoding: str, skipped: int, mark: str, lines: list[str]) -> list[Any]:
    """Read with Arrow, every cell as text: it would take the kind of a column from its first rows alone."""
    import csv

    import pyarrow as arrow
    from pyarrow import csv as arrow_csv

    width = len(next(csv.reader(lines[skipped:], delimiter=mark)))
    names, bad = [f"f{at}" for at in range(width)], []

    def note(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        table = arrow_csv.read_csv(
            path,
            arrow_csv.ReadOptions(
                use_threads=False,
                block_size=2**26,
                skip_rows=skipped,
                column_names=names,
                encoding={"utf-8-sig": "utf8"}.get(encoding, encoding),
            ),
            arrow_csv.ParseOptions(
                delimiter=mark, newlines_in_values=True, ignore_empty_lines=width > 1, invalid_row_handler=note
            ),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, arrow.string()), strings_can_be_null=False),
        )
    except arrow.ArrowInvalid as error:
        if not bad:
            raise
        line = f"Line {bad[0].number + skipped}" if bad[0].number else "A line"
        raise DataError(f"{line} of {path.name} has another number of cells than the first one, {width}.") from error
    return [table.column(at) for at in range(width)]


def _has_head(path: Path, columns: list[Any], first: list[str], count: int | None) -> bool:
    """Return whether the first line names the columns: a name is no number with a point, and whole numbers are names
    only where they count the columns. Of a table without numbers the count of rows tells.
    """
    cells = [cell for cell in first if NUMBER.fullmatch(cell)]
    whole = [int(cell) for cell in cells if _WHOLE.fullmatch(cell)]
    rows = len(columns[0])
    if len(whole) < len(cells) or any(b - a != 1 for a, b in pairwise(whole)):
        return False
    if count is not None and rows == count + 1:
        return True
    called = any(cell.strip().lower() in _HEADS for cell in first) or _names_nothing(columns, first)
    if count is not None and rows == count:
        if called and not cells:
            raise DataError(
                f"{path.name} has {rows - 1:,} rows below its head ({', '.join(first)[:80]}); {count:,} were needed."
            )
        return False
    if len(columns) == 1:
        return called and not cells
    return len(cells) != 1 or whole[0] == 0


def _names_nothing(columns: list[Any], first: list[str]) -> bool:
    """Return whether no cell of the first line occurs again where all others of a column do."""
    repeated = False
    for column, cell in zip(columns, first, strict=True):
        counts = column.slice(1).value_counts()
        if not len(counts):
            continue
        if cell in {one.as_py() for one in counts.field("values")}:
            return False
        repeated |= min(one.as_py() for one in counts.field("counts")) > 1
    return repeated


def _made_up(columns: list[Any]) -> list[str]:
    """Name the columns of a table without a head: numbers with a point are counted, others told by what they hold."""
    looked = [[str(cell) for cell in column.slice(0, 1000).to_pylist()] for column in columns]
    if len(columns) == 1:
        return ["label"]
    numbers = [all(map(NUMBER.fullmatch, cells)) for cells in looked]
    whole = [each and _are_whole(cells) for each, cells in zip(numbers, looked, strict=True)]
    pointed = any(number and not w for number, w in zip(numbers, whole, strict=True))
    names, taken = [], 0
    for at, cells in enumerate(looked):
        if numbers[at] and not (pointed and whole[at]):
            names.append(str(taken))
            taken += 1
            continue
        kind = "index" if _is_count(cells) else "path" if all(map(_PICTURE.fullmatch, cells)) else "label"
        names.append(kind if kind not in names else f"{kind} {at}")
    return names


def _are_whole(cells: list[str]) -> bool:
    return all(float(cell).is_integer() for cell in cells if np.isfinite(float(cell)))


def _is_count(cells: list[str]) -> bool:
    try:
        numbers = [int(float(cell)) for cell in cells]
    except ValueError:
        return False
    return len(numbers) > 2 and all(b - a == 1 for a, b in pairwise(numbers))
