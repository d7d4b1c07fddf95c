"""Image files grouped to splits and classes: sub-folders are classes, nested sub-folders are a class tree.

images/apple/1.jpg              one level:  class
images/fruit/apple/1.jpg        two levels: class = apple, group = fruit
images/train/fruit/apple/1.jpg  the same, with splits

A table beside them is used in place of the folders if a column of it reads as a label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainers.data.image_file import LARGEST_FILE
from trainers.data.labelled import beside
from trainers.data.labelled.beside import Cell
from trainers.data.labelled.columns import describe
from trainers.data.labelled.files import File, FileSource
from trainers.data.labelled.splits import is_split
from trainers.data.labelled.table import Codes, Kind, Splits, Table, encode
from trainers.data.labelled.tree import level_names
from trainers.errors import DataError

_SHEETS = (".xlsx", ".xls", ".ods")
_FOREIGN = (".heic", ".heif", ".avif", ".jxl", ".svg", ".psd", ".raw", ".dng", ".cr2", ".nef", ".eps", ".pdf")
"""Endings of images that are not read."""


class FileTable(Table):
    """One split of a plain folder or zip file.

    Args:
        columns: what is known of the files by column, None where nothing is; each of the same length.
        kinds: of these columns.
        attributes: what is known of the files beside their classes, by name; as of columns.
    """

    def __init__(
        self,
        source: FileSource,
        files: list[File],
        columns: Mapping[str, Sequence[Cell]],
        kinds: Mapping[str, Kind],
        attributes: Mapping[str, Sequence[Cell]] | None = None,
    ) -> None:
        self.kinds = {"image": "image", **kinds}
        self.total = len(files)
        self._source = source
        self._files = files
        self._codes = {name: encode(cells) for name, cells in columns.items()}
        self.attributes = {name: encode(cells) for name, cells in (attributes or {}).items()}

    def __len__(self) -> int:
        return len(self._files)

    def codes(self, column: str) -> Codes:
        return self._codes[column]

    def sizes(self, column: str, rows: np.ndarray) -> np.ndarray:
        return np.fromiter((self._files[row].size for row in rows), dtype=np.int64, count=len(rows))

    def images(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        files = [self._files[row] for row in rows]
        return [self._source.read(file) if file.size <= LARGEST_FILE else None for file in files]

    def names(self, column: str, rows: np.ndarray) -> list[str]:
        return ["/".join(self._files[row].parts) for row in rows]


@dataclass(frozen=True, kw_only=True)
class _Folders:
    """What the folders of images say: the split of each if the outermost are splits, and the names below that."""

    splits: list[str]
    inner: list[tuple[str, ...]]

    @classmethod
    def of(cls, files: list[File]) -> _Folders:
        skip = _common_depth(files)
        folders = [file.parts[skip:-1] for file in files]
        split_depth = int(all(parts and is_split(parts[0]) for parts in folders))
        splits = [parts[0] if split_depth else "all" for parts in folders]
        return cls(splits=splits, inner=[parts[split_depth:] for parts in folders])

    @property
    def depth(self) -> int:
        """Levels that all images in folders have."""
        return min({len(parts) for parts in self.inner} - {0}, default=0)

    def columns(self, names: Sequence[str]) -> dict[str, list[Cell]]:
        """Return the levels under these names, finest first; the parts of a path are coarsest first."""
        above = [parts[: self.depth] if parts else (None,) * self.depth for parts in self.inner]
        return {name: [parts[-1 - level] for parts in above] for level, name in enumerate(names)}

    def notes(self) -> list[str]:
        """Say what is left out where they are the classes."""
        loose, said = sum(not parts for parts in self.inner), []
        if loose and self.depth:
            said.append(f"{loose} images lie in no class folder and were skipped.")
        if len({len(parts) for parts in self.inner} - {0}) > 1:
            said.append(
                f"Class folders are nested to different depths; the first {self.depth} of them were read as labels."
            )
        return said


def tables(source: FileSource, files: list[File]) -> Splits:
    """Group files to splits and classes, as tables beside them say, or else their folders; without a label column where
    neither does.

    Raises:
        DataError: there are no images.
    """
    if not files:
        raise DataError(f"{source.path.name!r} holds no images. Put them in one sub-folder per class.")
    said = beside.listed(_tables_beside(source), [file.parts for file in files])
    folders = _Folders.of(files)
    notes, splits = [*said.notes], said.splits or folders.splits
    given = {"image (of the table)" if name == "image" else name: _alike(said.columns[name]) for name in said.columns}
    if any(describe(name, _kind(cells), encode(cells)).likely for name, cells in given.items()):
        tree, kept = None, [bool(split) for split in splits]
        levels = ["folder", *(f"folder {n} above" for n in range(1, folders.depth))][: folders.depth]
        columns = {**folders.columns(levels), **given}
        columns = {name: columns[name] for name in dict.fromkeys([*given, *columns])}
    else:
        tree = level_names(folders.depth)
        kept = [bool(split and (parts or not tree)) for split, parts in zip(splits, folders.inner, strict=True)]
        columns = {**given, **folders.columns(tree)}
        if given:
            which = ", ".join(given)[:200]
            notes.append(f"No column of the tables reads as a label ({which}), so the folders are the classes.")
        notes += folders.notes()
    if not all(splits):
        notes.append(f"{splits.count(''):,} images have no split and were left out.")
    classes = tree or ()  # names of folders are names, whatever they look like
    kinds: dict[str, Kind] = {name: "text" if name in classes else _kind(cells) for name, cells in columns.items()}
    made = {}
    for split in dict.fromkeys(name for name, keep in zip(splits, kept, strict=True) if keep):
        rows = [row for row, name in enumerate(splits) if name == split and kept[row]]
        of_split = {name: [cells[row] for row in rows] for name, cells in columns.items()}
        made[split] = FileTable(source, [files[row] for row in rows], of_split, kinds)
    return Splits(tables=made, notes=(*notes, *_left_out(source.others())), tree=tree)


def _tables_beside(source: FileSource) -> list[beside.Written | str]:
    """Read the tables beside the images, those of outer folders first, as far as they are small."""
    every = sorted(source.listed(beside.SUFFIXES), key=lambda file: (len(file.parts), file.parts))
    room = beside.MOST_BYTES
    read: list[beside.Written | str] = []
    for file in every[: beside.MOST_TABLES]:
        read.append(beside.written(file.parts, source.read(file) if file.size <= room else None))
        room -= min(file.size, room)
    more = len(every) - len(read)
    return [*read, f"{more:,} more tables beside the images are not read."] if more else read


def _alike(cells: Sequence[Cell]) -> list[Cell]:
    """Read cells as whole numbers if all are."""
    try:
        return [None if cell is None else int(cell) for cell in cells]
    except ValueError:
        return [None if cell is None else str(cell) for cell in cells]


def _kind(cells: Sequence[Cell]) -> Kind:
    """Return what cells hold that were made alike."""
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, int) for cell in given):
        return "whole number"
    return "other" if given and all(map(_is_number, given)) else "text"


def _is_number(cell: Cell) -> bool:
    try:
        float(cell or "")
    except ValueError:
        return False
    return True


def _left_out(others: Counter[str]) -> list[str]:
    """Say which files were left out that somebody may have meant to be read: images of other formats, and tables."""
    foreign = {suffix: count for suffix, count in sorted(others.items()) if suffix in _FOREIGN}
    notes = []
    if foreign:
        counts = ", ".join(f"{count:,} {suffix}" for suffix, count in foreign.items())
        notes.append(f"Left out, since they cannot be read here: {counts}. Save them as JPEG or PNG.")
    sheets = sum(others[suffix] for suffix in _SHEETS)
    if sheets:
        notes.append(
            f"Left out: {sheets} spreadsheet{'s' if sheets > 1 else ''}. Save such a table as CSV, with a column "
            "file_name and columns of labels."
        )
    return notes


def _common_depth(files: list[File]) -> int:
    """Return how many outer folders all files share that are neither a split nor the only class folder."""
    first = files[0].parts
    shared = 0
    while all(len(file.parts) > shared + 2 and file.parts[shared] == first[shared] for file in files):
        if is_split(first[shared]):
            break
        shared += 1
    return shared
