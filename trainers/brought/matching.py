"""Which row of one table is which row of another, and which image is of which row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from trainers.brought.files import PICTURES
from trainers.brought.levels import cells_of
from trainers.data.image_file import SUFFIXES
from trainers.data.labelled.label_tables import Names
from trainers.errors import DataError

IDS = ("id", "ids", "_id", "image_id", "img_id", "sample_id", "key", "uuid", "name", "index")
"""Names of columns by which rows are found, after those of :data:`trainers.brought.files.PICTURES`."""
_OF_MODELS = re.compile(r"^(?:nearest|neighbou?r|rank|cluster|dist)|pred|prob|score|conf", re.IGNORECASE)


def rows_of(first: Mapping[str, Any], other: Mapping[str, Any], names: tuple[str, str]) -> np.ndarray | None:
    """Return the row of another table for each row of the first, int64 ``[N]``, -1: it has none; None: no column that
    both have tells.

    Args:
        first, other: columns by name.
        names: of both files, for what is said.

    Raises:
        DataError: a column of paths or ids has nothing in common, or names rows twice.
    """
    for mine, theirs, known in _shared(first, other):
        a, b = _keys(first[mine]), _keys(other[theirs])
        if a is None or b is None or (a == b):
            if a is not None and a == b and known:
                return np.arange(len(a))
            continue
        mine_keys, their_keys = _alike(a, b)
        there: dict[str, int] = {}
        twice = 0
        for at, key in enumerate(their_keys):
            if key is not None:
                twice += key in there
                there.setdefault(key, at)
        found = np.array([there.get(key, -1) if key is not None else -1 for key in mine_keys], np.int64)
        if not (found >= 0).any():
            if known:
                begin = f"they begin with {str(a[0])[:60]!r} and {str(b[0])[:60]!r}"
                raise DataError(f"None of the rows of {names[0]} is in {names[1]} by {mine!r}: {begin}.")
            continue
        if twice:
            if not known:
                continue
            raise DataError(f"{theirs!r} names {twice:,} rows of {names[1]} twice, so it cannot tell which is which.")
        if not known and (found < 0).any():
            continue
        return found
    return None


def _shared(first: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Return pairs of columns that may say which row is which, those of paths first, and whether their names say so."""
    lower = {name.lower(): name for name in other}
    pairs = [(name, lower[name.lower()], True) for name in first if name.lower() in PICTURES and name.lower() in lower]
    paths = [name for name in first if name.lower() in PICTURES], [name for name in other if name.lower() in PICTURES]
    if not pairs and all(paths):
        pairs = [(paths[0][0], paths[1][0], True)]
    pairs += [(name, lower[name.lower()], True) for name in first if name.lower() in IDS and name.lower() in lower]
    done = {name for name, _, _ in pairs}
    return pairs + [(name, lower[name.lower()], False) for name in first if name not in done and name.lower() in lower]


def _keys(values: Any) -> list[str | None] | None:
    """Return a column as keys; None: it is none of keys."""
    if getattr(values, "ndim", 1) > 1 or (isinstance(values, np.ndarray) and values.dtype.kind == "f"):
        return None
    cells = cells_of(values)
    cells = [cell.get("path") if isinstance(cell, dict) else cell for cell in cells]
    if any(isinstance(cell, (list, dict, bytes)) for cell in cells) or not any(cell is not None for cell in cells):
        return None
    if any(isinstance(cell, float) and not cell.is_integer() for cell in cells):
        return None
    return [None if cell is None else _key(cell) for cell in cells]


def _key(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) else str(cell).strip().replace("\\", "/")


def _alike(a: Sequence[str | None], b: Sequence[str | None]) -> tuple[Sequence[str | None], Sequence[str | None]]:
    """Return paths as their last parts where nothing else is in common."""
    if {*a} & {*b} - {None}:
        return a, b
    for form in (lambda path: PurePosixPath(path).name, lambda path: PurePosixPath(path).stem):
        short = [[None if path is None else form(path) for path in paths] for paths in (a, b)]
        if {*short[0]} & {*short[1]} - {None} and len({*short[0]}) == len({*a}) and len({*short[1]}) == len({*b}):
            return short[0], short[1]
    return a, b


def check_agreement(
    first: Mapping[str, Any], other: Mapping[str, Any], used: Sequence[str], names: tuple[str, str]
) -> None:
    """Refuse tables whose columns say that their rows are of other images.

    Args:
        first, other: columns by name, of as many rows in the same order.
        used: columns that are labels, of which all have to agree; others may be of a model, and of those numbers with
            a point and predictions are passed over.

    Raises:
        DataError: the first row that differs.
    """
    for name in first:
        if name not in other or (name not in used and _OF_MODELS.search(name)):
            continue
        a, b = _keys(first[name]), _keys(other[name])
        if a is None or b is None or a == b:
            continue
        if name not in used and name.lower() not in PICTURES + IDS and (len({*a}) == 1 or len({*b}) == 1):
            continue  # of the file, not of its rows
        if name.lower() in PICTURES:
            a, b = ([*keys] for keys in _alike(a, b))
        at = next((at for at, (one, two) in enumerate(zip(a, b, strict=True)) if one != two), None)
        if at is not None:
            differ = f"in row {at + 1:,} {name!r} is {str(a[at])[:60]!r} and {str(b[at])[:60]!r}"
            raise DataError(
                f"{names[0]} and {names[1]} are not of the same images in the same order: {differ}. A column of paths "
                "or ids in both tells which row is which."
            )


class Folder:
    """A folder of images, which are found by their paths."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise DataError(f"A folder of images was needed; there is none at {path}.")
        root = path.resolve()
        files = [file for file in path.rglob("*") if file.is_file() and not file.name.startswith(".")]
        files = [file for file in files if file.resolve().is_relative_to(root)]
        pictures = [file for file in files if file.suffix.lower() in SUFFIXES]
        self.path = path
        self._places = [PurePosixPath(place) for place in (path.as_posix(), root.as_posix(), root.name)]
        self.files = sorted(pictures or files, key=lambda file: _natural(file.relative_to(path)))
        self._names = Names([file.relative_to(path).parts for file in self.files])

    def find(self, name: str) -> tuple[Path | None, bool]:
        """Return the file that a path means, and whether it lies elsewhere than the path says."""
        row = self._names.row(name, ())
        if row is None:
            return None, False
        file = self.files[row]
        told = PurePosixPath(name.replace("\\", "/"))
        below = PurePosixPath(*file.relative_to(self.path).parts)
        return file, told not in (below, *(place / below for place in self._places))


def _natural(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """Order names by the numbers in them."""
    pieces = [piece for part in path.parts for piece in ("/", *re.split(r"([0-9]+)", part)) if piece]
    return [(0, int(piece), "") if re.fullmatch("[0-9]+", piece) else (1, 0, piece) for piece in pieces], str(path)


def pictures_of(columns: Mapping[str, Any], count: int, folder: Path | None) -> tuple[Sequence[Any] | None, str, str]:
    """Return an image a row, as paths, bytes or arrays, None where none is given; None: there are none at all.

    Returns:
        these, a sentence's part on where they come from, and the column that names them.

    Raises:
        DataError: the folder is none, or its images are not as many as the rows and no column tells which is which.
    """
    place = None if folder is None else Folder(folder)
    column = next((name for name in columns if name.lower() in PICTURES), "")
    if column and getattr(columns[column], "ndim", 1) > 1:
        return list(columns[column]), f"images in {column}", column
    if column:
        values = cells_of(columns[column])
        if any(isinstance(value, (bytes, dict)) for value in values):
            return values, f"images in {column}", column
        if place is None:
            return None, f"no images, because --images FOLDER does not say where those of {column} are", column
        return (*_by_path(place, values, column), column)
    if place is None:
        return None, "", ""
    for name, values in columns.items():
        keys = _keys(values)
        if keys is not None and None not in keys and len({*keys}) == len(keys):
            found = [place.find(str(key))[0] for key in keys]
            if None not in found and len({*found}) == count:
                return found, f"images of {place.path.name} by {name}", name
    if len(place.files) != count:
        raise DataError(
            f"An image for each of {count:,} rows was needed; {folder} has {len(place.files):,} files. A "
            "column of paths, named path, tells which is which."
        )
    first, last = place.files[0].name, place.files[-1].name
    return place.files, f"images of {place.path.name} in the order of their names, {first} to {last}", ""


def _by_path(place: Folder, values: Sequence[Any], column: str) -> tuple[Sequence[Path | None], str]:
    found, moved = [], 0
    for value in values:
        file, elsewhere = (None, False) if value is None else place.find(str(value))
        found.append(file)
        moved += elsewhere
    there = sum(file is not None for file in found)
    said = f"images of {place.path.name} by {column} ({there:,} of {len(found):,}"
    said += f", {moved:,} of them by the last parts of their paths)" if moved else ")"
    return found, said
