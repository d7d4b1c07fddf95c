"""Folders of images as tables: the split of each image, its role in a test of queries and a gallery, its classes.

images/apple/1.jpg              one level:  class
images/fruit/apple/1.jpg        two levels: class = apple, group = fruit
images/train/fruit/apple/1.jpg  the same, with splits
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from trainers.cells import counted, some
from trainers.data.base import CAMERA, GALLERY, QUERY, ROLE
from trainers.data.image_file import LARGEST_FILE
from trainers.data.labelled import label_tables
from trainers.data.labelled.columns import POINT, Cell, alike, describe, kind_of_cells, read_one_hot
from trainers.data.labelled.files import File, FileSource
from trainers.data.labelled.layouts import BenchmarkLayout, Reading, read_as_handed_out
from trainers.data.labelled.rows import level_names
from trainers.data.labelled.splits import is_split, rank_as_test, role_of, roles_note, with_roles
from trainers.data.labelled.table import Kind, LabelCodes, Splits, SplitTable, encode
from trainers.errors import DataError

Names = tuple[str, ...]
_PICTURES = {"images", "image", "imgs", "img", "jpegimages", "photos", "pictures", "rgb", "color", "colour", "original"}
_MASKS = {
    *("segmentations", "segmentation", "segmentationclass", "segmentationobject", "masks", "mask", "annotations"),
    *("labels", "gt", "depth", "trimaps"),
}
_ALIKE = 0.8  # of the names in two folders that are in both
_LEFT_OUT = ""


@dataclass(frozen=True, kw_only=True)
class Folders:
    """What the folders of images say.

    Attributes:
        splits: of every image; empty: it is left out.
        inner: the folders below those that all images share and that of the split, outermost first.
        roles: :data:`QUERY` or :data:`GALLERY` of every image of a test that is divided so; None: of none.
        outer: the folder of every image beside which another has the same folders within; nothing: there are none.
        notes: what was decided, and what is left out.
    """

    splits: Sequence[str]
    inner: Sequence[Names]
    roles: Sequence[str | None] | None = None
    outer: Sequence[str | None] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, files: Sequence[Names]) -> Folders:
        """Read the paths of the images below the dataset's folder, as parts."""
        skip = _common_depth(files)
        below = [parts[skip:] for parts in files]
        tops = Counter(parts[0] for parts in below if len(parts) > 1)
        splits = _split_folders(below, tops)
        if splits:
            return _divided(below, tops, splits)
        masks = _masks(below, tops)
        if masks:
            return _without(files, [len(parts) > 1 and parts[0] in masks for parts in below], masks)
        inner = [parts[:-1] for parts in below]
        everything = cls(splits=["all"] * len(files), inner=inner)
        if _same_inside(below, tops):
            return replace(
                everything,
                inner=[parts[1:] for parts in inner],
                outer=[parts[0] for parts in inner],
                notes=(f"{some(sorted(tops))} hold folders of the same names, which are read as the same classes.",),
            )
        odd = [name for name in tops if is_split(name) or role_of(name)]
        if odd:
            read = "is read as a class" if len(odd) == 1 else "are read as classes"
            return replace(everything, notes=(f"{some(sorted(odd))} {read}, since other folders are no splits.",))
        return everything

    @cached_property
    def depth(self) -> int:
        """Levels that all images in folders have."""
        return min({len(parts) for parts in self._read()} - {0}, default=0)

    def levels(self) -> list[list[str | None]]:
        """Return the names of every level, finest first; the parts of a path are coarsest first."""
        above = [parts[: self.depth] if parts else (None,) * self.depth for parts in self.inner]
        return [[parts[-1 - level] if len(parts) > level else None for parts in above] for level in range(self.depth)]

    def said(self) -> list[str]:
        """Say what is left out where the folders are the classes."""
        read = self._read()
        loose, said = sum(not parts for parts in read), []
        if loose and self.depth:
            was = "was" if loose == 1 else "were"
            said.append(f"{counted(loose, 'image', 'lies')} in no class folder and {was} skipped.")
        if len({len(parts) for parts in read} - {0}) > 1:
            said.append(
                f"Class folders are nested to different depths; the first {self.depth} of them were read as labels."
            )
        return said

    def _read(self) -> list[Names]:
        return [parts for parts, split in zip(self.inner, self.splits, strict=True) if split]


def _split_folders(below: Sequence[Names], tops: Counter[str]) -> set[str]:
    """Return which of the outermost folders are splits: all, if all have such names; else those with such names, if
    they can be told from classes: a train and a test split or query and gallery are there, or they alone hold folders.
    """
    named = {name for name in tops if is_split(name) or role_of(name)}
    others = tops.keys() - named
    if not named or (not others and all(len(parts) > 1 for parts in below)):
        return named
    deep = {parts[0] for parts in below if len(parts) > 2}
    several = {"train" if _trains(name) else role_of(name) or "test" for name in named}
    flat = not named & deep
    if flat and len(others) > 1:
        return set()
    if several >= {"train", "test"} or several >= {QUERY, GALLERY} or (len(several) > 1 and "train" in several):
        return named
    return named if named <= deep and not others & deep else set()


def _trains(name: str) -> bool:
    return rank_as_test(name) is None and not role_of(name)


def _divided(below: Sequence[Names], tops: Counter[str], splits: set[str]) -> Folders:
    """Take the outermost folder of every image as its split; those in no split are left out, and are named."""
    first = [parts[0] if len(parts) > 1 and parts[0] in splits else _LEFT_OUT for parts in below]
    inner = [parts[1:-1] if split else () for parts, split in zip(below, first, strict=True)]
    notes = []
    odd = [name for name in tops if name not in splits]
    if odd:
        count = sum(tops[name] for name in odd)
        notes.append(f"Left out, {counted(count, 'image')} in folders beside the splits: {some(sorted(odd))}.")
    loose = sum(len(parts) == 1 for parts in below)
    if loose:
        notes.append(f"Left out, {counted(loose, 'image')} beside the folders of the splits.")
    return _with_roles(Folders(splits=first, inner=inner, notes=tuple(notes)))


def _with_roles(folders: Folders) -> Folders:
    """Read queries and gallery, beside the other splits or within one, as one test split."""
    inner = list(folders.inner)
    splits, roles = with_roles(folders.splits)
    if roles is None:
        splits = list(folders.splits)
        called = [role_of(parts[0]) if parts else None for parts in inner]
        below: dict[str, set[str | None]] = {}
        for split, role in zip(splits, called, strict=True):
            below.setdefault(split, set()).add(role)
        within = {split for split, found in below.items() if split and found == {QUERY, GALLERY}}
        roles = [role if split in within else None for split, role in zip(splits, called, strict=True)]
        inner = [parts[1:] if role else parts for parts, role in zip(inner, roles, strict=True)]
    if not any(roles):
        return folders
    return replace(folders, splits=splits, inner=inner, roles=roles)


def _masks(below: Sequence[Names], tops: Counter[str]) -> set[str]:
    """Return the outermost folders that hold files of the same names as one of pictures: masks of these."""
    held: dict[str, set[Names]] = {name: set() for name in tops}
    for parts in below:
        if len(parts) > 1:
            held[parts[0]].add((*parts[1:-1], PurePosixPath(parts[-1]).stem))
    deep = {name for name in tops if any(len(parts) > 1 for parts in held[name])}
    called = {name for name in tops if name.lower() in _MASKS}
    pictures = [name for name in tops if name.lower() in _PICTURES]
    if not pictures and called <= deep:  # one that is called mask and holds images alone may be a class
        pictures = [name for name in deep if called and name not in called]
    picture = max(pictures, key=lambda name: tops[name], default=None)
    if picture is None:
        return set()
    stems = {name: {parts[-1:] for parts in held[name]} for name in tops}
    alike = {name for name in deep - called if name.lower() not in _PICTURES and name != picture}
    return {name for name in called if _overlap(stems[name], stems[picture]) >= _ALIKE} | {
        name for name in alike if _overlap(held[name], held[picture]) >= _ALIKE
    }


def _without(files: Sequence[Names], left_out: Sequence[bool], masks: set[str]) -> Folders:
    """Read the images but for those that are masks of others."""
    rows = [row for row, out in enumerate(left_out) if not out]
    rest = Folders.of([files[row] for row in rows])
    splits: list[str] = [_LEFT_OUT] * len(files)
    inner: list[Names] = [()] * len(files)
    roles: list[str | None] | None = None if rest.roles is None else [None] * len(files)
    outer: list[str | None] = [None] * len(files) if rest.outer else []
    for at, row in enumerate(rows):
        splits[row], inner[row] = rest.splits[at], rest.inner[at]
        if roles is not None and rest.roles is not None:
            roles[row] = rest.roles[at]
        if rest.outer:
            outer[row] = rest.outer[at]
    count, named = counted(sum(left_out), "image"), some(sorted(masks))
    note = f"Left out, {count} that have the names of others, as masks have: {named}."
    return Folders(splits=splits, inner=inner, roles=roles, outer=outer, notes=(note, *rest.notes))


def _same_inside(below: Sequence[Names], tops: Counter[str]) -> bool:
    """Return whether all outermost folders, of several, hold folders of nearly the same names, of two or more."""
    inside: dict[str, set[str]] = {name: set() for name in tops}
    for parts in below:
        if len(parts) != 3:
            return False
        inside[parts[0]].add(parts[1])
    named = list(inside.values())
    return len(named) > 1 and all(len(names) > 1 and _jaccard(names, named[0]) >= _ALIKE for names in named)


def _overlap(some: set[Names], others: set[Names]) -> float:
    return len(some & others) / max(1, min(len(some), len(others)))


def _jaccard(some: set[str], others: set[str]) -> float:
    return len(some & others) / len(some | others)


def _common_depth(files: Sequence[Names]) -> int:
    """Return how many outer folders all files share that are neither a split nor the only class folder."""
    first = files[0]
    shared = 0
    while all(len(parts) > shared + 2 and parts[shared] == first[shared] for parts in files):
        if is_split(first[shared]) or role_of(first[shared]):
            break
        shared += 1
    return shared


_SHEETS = (".xlsx", ".xls", ".ods")
_FOREIGN = (".heic", ".heif", ".avif", ".jxl", ".svg", ".psd", ".raw", ".dng", ".cr2", ".nef", ".eps", ".pdf")
"""Endings of images that are not read."""


class FileTable(SplitTable):
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

    def codes(self, column: str) -> LabelCodes:
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
    said = label_tables.listed(_tables_beside(source), [file.parts for file in files])
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


def _as_handed_out(source: FileSource, files: list[File], layout: BenchmarkLayout, reading: Reading) -> Splits:
    """Make the splits of a benchmark of which its lists tell."""
    rows: dict[str, list[int]] = {}
    for row, entry in sorted(reading.entries.items()):
        rows.setdefault(entry.split, []).append(row)
    names = (*reading.levels, *reading.more)
    kinds: dict[str, Kind] = dict.fromkeys(names, "text")
    made: dict[str, SplitTable] = {}
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


def _tables_beside(source: FileSource) -> list[label_tables.RawTable | str]:
    """Read the tables beside the images, those of outer folders first, as far as they are small."""
    listed = (file for file in source.listed((*label_tables.SUFFIXES, ".txt")) if label_tables.is_table(file.parts[-1]))
    every = sorted(listed, key=lambda file: (len(file.parts), file.parts))
    room = label_tables.MOST_BYTES
    read: list[label_tables.RawTable | str] = []
    for file in every[: label_tables.MOST_TABLES]:
        read.append(label_tables.written(file.parts, source.read(file) if file.size <= room else None))
        room -= min(file.size, room)
    more = len(every) - len(read)
    return [*read, f"{more:,} more tables beside the images are not read."] if more else read


def _named(codes: LabelCodes) -> list[Cell]:
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
