"""Image files grouped to splits and classes: sub-folders are classes, nested sub-folders are a class tree.

A table beside them is used in place of the folders if a column of it reads as a label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from trainers.cells import counted
from trainers.data.base import CAMERA, ROLE
from trainers.data.image_file import LARGEST_FILE
from trainers.data.labelled import beside
from trainers.data.labelled.columns import POINT, Cell, alike, describe, kind_of_cells, read_one_hot
from trainers.data.labelled.files import File, FileSource
from trainers.data.labelled.folders import Folders
from trainers.data.labelled.layouts import Layout, Reading, read_as_handed_out
from trainers.data.labelled.rows import level_names
from trainers.data.labelled.split_column import roles_note
from trainers.data.labelled.table import Codes, Kind, Splits, Table, encode
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
        unread: why columns are not read, by name.
    """

    def __init__(
        self,
        source: FileSource,
        files: list[File],
        columns: Mapping[str, Sequence[Cell]],
        kinds: Mapping[str, Kind],
        attributes: Mapping[str, Sequence[Cell]] | None = None,
        unread: Mapping[str, str] | None = None,
    ) -> None:
        self.kinds = {"image": "image", **kinds, **dict.fromkeys(unread or (), "other")}
        self.unread = {name: POINT for name, kind in kinds.items() if kind == "other"} | dict(unread or {})
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
        return ["/".join(self._files[row].names) for row in rows]


def tables(source: FileSource, files: list[File]) -> Splits:
    """Group files to splits and classes, as tables beside them say, or else their folders; without a label column where
    neither does.

    Raises:
        DataError: there are no images.
    """
    if not files:
        raise DataError(f"{source.path.name!r} holds no images. Put them in one sub-folder per class.")
    handed = read_as_handed_out(source, files)
    if handed is not None:
        return _as_handed_out(source, files, *handed)
    said = beside.listed(_tables_beside(source), [file.parts for file in files])
    folders = Folders.of([file.names for file in files])
    notes = [*source.notes(), *said.notes]
    splits, roles = said.splits or folders.splits, said.roles if said.splits else folders.roles
    given = {"image (of the table)" if name == "image" else name: alike(said.columns[name]) for name in said.columns}
    whole = FileTable(source, files, given, {name: kind_of_cells(cells) for name, cells in given.items()})
    one_hot = read_one_hot([whole])
    notes += [one_hot] * bool(one_hot)
    for name, of in whole.made_of.items():
        given = {each: cells for each, cells in given.items() if each not in of} | {name: _named(whole.codes(name))}
    columns: dict[str, Sequence[Cell]]
    if any(describe(name, kind_of_cells(cells), whole.codes(name)).likely for name, cells in given.items()):
        tree, kept = None, [bool(split) for split in splits]
        levels = ["folder", *(f"folder {n} above" for n in range(1, folders.depth))][: folders.depth]
        columns = {**dict(zip(levels, folders.levels(), strict=True)), **given}
        columns = {name: columns[name] for name in dict.fromkeys([*given, *columns])}
    else:
        tree = level_names(folders.depth)
        kept = [bool(split and (parts or not tree)) for split, parts in zip(splits, folders.inner, strict=True)]
        columns = {**given, **dict(zip(tree, folders.levels(), strict=True))}
        if folders.outer:
            columns["outer folder"] = folders.outer
        if given:
            which = ", ".join(given)[:200]
            notes.append(f"No column of the tables reads as a label ({which}), so the folders are the classes.")
        notes += folders.said()
    notes += () if said.splits else folders.notes
    if said.splits and not all(splits):
        notes.append(f"Left out, {counted(splits.count(''), 'image')} without a split.")
    notes += [] if roles is None else [roles_note(roles)]
    unread = {name: why for name, why in {**said.unread, **whole.unread}.items() if name not in columns}
    classes = {*(tree or ()), "outer folder"}  # names of folders are names, whatever they look like
    kinds: dict[str, Kind] = {
        name: "text" if name in classes else kind_of_cells(cells) for name, cells in columns.items()
    }
    made = {}
    for split, rows in _by_split(splits, kept).items():
        of_split = {name: [cells[row] for row in rows] for name, cells in columns.items()}
        known = {} if roles is None else {ROLE: [roles[row] for row in rows]}
        known = {name: cells for name, cells in known.items() if any(cells)}
        made[split] = FileTable(source, [files[row] for row in rows], of_split, kinds, known, unread)
        made[split].made_of = whole.made_of
    return Splits(tables=made, notes=(*notes, *_left_out(source.others())), tree=tree)


def _by_split(splits: Sequence[str], kept: Sequence[bool]) -> dict[str, list[int]]:
    """Return the rows of every split that are kept."""
    rows: dict[str, list[int]] = {}
    for row, split in enumerate(splits):
        if kept[row]:
            rows.setdefault(split, []).append(row)
    return rows


def _as_handed_out(source: FileSource, files: list[File], layout: Layout, reading: Reading) -> Splits:
    """Make the splits of a benchmark of which its lists tell."""
    rows: dict[str, list[int]] = {}
    for row, entry in sorted(reading.entries.items()):
        rows.setdefault(entry.split, []).append(row)
    names = (*reading.levels, *reading.more)
    kinds: dict[str, Kind] = dict.fromkeys(names, "text")
    made: dict[str, Table] = {}
    for split, of_split in rows.items():
        entries = [reading.entries[row] for row in of_split]
        columns = {name: [entry.labels[level] for entry in entries] for level, name in enumerate(names)}
        known = {ROLE: [entry.role for entry in entries], CAMERA: [entry.camera for entry in entries]}
        known = {name: cells for name, cells in known.items() if any(cells)}
        made[split] = FileTable(source, [files[row] for row in of_split], columns, kinds, known)
    notes = [*source.notes(), f"Read as {layout.title}.", *reading.notes]
    of_tests = {split: [reading.entries[row].role for row in of_split] for split, of_split in rows.items()}
    of_tests = {split: roles for split, roles in of_tests.items() if any(roles)}
    notes += [f"{split}: " * (len(of_tests) > 1) + roles_note(roles) for split, roles in of_tests.items()]
    if left := len(files) - len(reading.entries) - reading.junk:
        notes.append(f"{counted(left, 'image', 'is')} in none of its lists and left out.")
    return Splits(tables=made, notes=tuple(notes), tree=reading.levels)


def _tables_beside(source: FileSource) -> list[beside.Written | str]:
    """Read the tables beside the images, those of outer folders first, as far as they are small."""
    listed = (file for file in source.listed((*beside.SUFFIXES, ".txt")) if beside.is_table(file.parts[-1]))
    every = sorted(listed, key=lambda file: (len(file.parts), file.parts))
    room = beside.MOST_BYTES
    read: list[beside.Written | str] = []
    for file in every[: beside.MOST_TABLES]:
        read.append(beside.written(file.parts, source.read(file) if file.size <= room else None))
        room -= min(file.size, room)
    more = len(every) - len(read)
    return [*read, f"{more:,} more tables beside the images are not read."] if more else read


def _named(codes: Codes) -> list[Cell]:
    return [codes.names[value] if value >= 0 else None for value in codes.values]


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
