"""A look at a dataset before it is loaded: splits, columns, a proposal, whatever stands in its way; a few images."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainers.config import DataChoice
from trainers.data.decode import WideFoundError, square
from trainers.data.image_file import ACCEPTED, UndecodableError
from trainers.data.labelled.chosen_columns import choose_columns
from trainers.data.labelled.columns import LabelColumn, candidates, describe, image_column, join, others
from trainers.data.labelled.loader import SPANNED, check_sizes, glance, open_source, pixel_range
from trainers.data.labelled.rows import (
    ColourFoundError,
    EncodedImages,
    Part,
    Selection,
    decode_all,
    look,
    losses,
    spans_of,
    unreadable,
    unreadable_rows,
)
from trainers.data.labelled.selection import all_rows, dropped_classes, select_rows, used_splits
from trainers.data.labelled.splits import divided_by_column
from trainers.data.labelled.table import Splits, SplitTable
from trainers.data.pixel_range import UNDECIDED, PixelRange
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy
from trainers.progress import silent

CLASSES, EACH = 5, 4
SIDE = 56


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Images of one class.

    Attributes:
        names: of the class and its superclasses, finest first; empty: the images have no classes.
        images: uint8 numpy arrays ``[C, S, S]``, grey or in colour.
        files: names of their files below the folder of the dataset; empty where they have none.
    """

    names: tuple[str, ...]
    images: tuple[np.ndarray, ...]
    files: tuple[str, ...]


def samples(
    tables: Sequence[SplitTable],
    columns: Sequence[str],
    whole: Part,
    hierarchy: Hierarchy,
    pixels: PixelRange | None = None,
) -> tuple[Sample, ...]:
    """Decode :data:`EACH` images of each of :data:`CLASSES` classes that lie far apart in the tree.

    Args:
        columns: the image column of each table.
        whole: rows with their labels.
        pixels: the range of values of more than 8 bits; None: of each image its own.
    """
    rows = np.unique(whole.labels[:, ::-1], axis=0)[:, ::-1]  # in order of the coarsest level first
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), CLASSES)).astype(np.int64))]
    made = []
    for labels in chosen:
        members = np.flatnonzero((whole.labels == labels).all(axis=1))
        spread = members[np.unique(np.linspace(0, len(members) - 1, min(len(members), EACH)).astype(np.int64))]
        owners = whole.owner[spread]
        seen = [
            (picture, tables[owner].names(columns[owner], np.array([row]))[0])
            for owner, row in zip(owners, whole.rows[spread], strict=True)
            if (picture := _picture(tables[owner], columns[owner], row, pixels)) is not None
        ]
        names = tuple(hierarchy.names[level][label] for level, label in enumerate(labels)) if len(rows) > 1 else ()
        if seen:
            pictures, files = zip(*seen, strict=True)
            made.append(Sample(names=names, images=pictures, files=files))
    return tuple(made)


def _picture(table: SplitTable, column: str, row: int, pixels: PixelRange | None) -> np.ndarray | None:
    try:
        return square(table.images(column, np.array([row]))[0] or b"", SIDE, pixels)
    except UndecodableError:
        return None


_SAMPLE_ROWS = 300
SHOWN = 2000
"""Classes that are listed with their superclasses."""
LOOK_SECONDS = 1.0
"""For the pixels of images, and as long for the headers of others: of about 10,000 small files."""


@dataclass(frozen=True, kw_only=True)
class DataReport:
    """A report: what the loader sees and would do.

    Attributes:
        title, licence: as the dataset says.
        splits: split name to number of rows; None where only a sample was read.
        image_columns: columns that hold images, the likeliest first.
        labels: every column that could be a label, with its number of classes (of the sample, if ``sampled``), and
            those that cannot, with the reason.
        levels: names of the levels of the tree, finest first; empty: the images have no classes.
        read_as: their names before they were given others.
        classes: a row for every class, its name and those of its superclasses; as many rows as are shown, at most
            :data:`SHOWN`.
        images: how many images each of ``classes`` has, of the rows that were read.
        dropped: classes that the superclasses leave out, with their images, at most :data:`SHOWN`.
        counts: how many classes each level has.
        proposal: the choice with columns and splits filled in; None if it cannot be loaded as it stands.
        share_classes: whether the two splits share finest classes, so that classes would be divided; None if unknown
            or if there is one split.
        sampled: only the first rows of each split were read.
        unreadable: how many images have headers that cannot be read, with some names, as a sentence; empty: none. Of
            many images the pixels are unpacked for which there is time, of others the headers are read.
        pixel_range: the values that are black and white in images of more than 8 bits; None: there are none, or only a
            sample was read.
        notes: decisions the loader would make.
        problems: what stands in the way, in sentences.
        samples: a few of the images.
    """

    title: str
    licence: str
    splits: dict[str, int | None]
    image_columns: tuple[str, ...] = ()
    labels: tuple[LabelColumn, ...] = ()
    levels: tuple[str, ...] = ()
    read_as: tuple[str, ...] = ()
    classes: tuple[tuple[str, ...], ...] = ()
    images: tuple[int, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()
    counts: tuple[int, ...] = ()
    proposal: DataChoice | None = None
    share_classes: bool | None = None
    sampled: bool = False
    unreadable: str = ""
    pixel_range: PixelRange | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()

    @property
    def unlabelled(self) -> bool:
        """Whether it was examined, and the images have no classes."""
        return bool(self.splits) and self.proposal is not None and not self.levels


def inspect_source(choice: DataChoice) -> DataReport:
    """Look at a folder or Hub dataset without decoding its images; one that must be downloaded is only sampled.

    Raises:
        DataError: the dataset cannot be opened at all; what other columns or splits would fix is in ``problems``.
    """
    opened = open_source(choice)
    sampled = opened.sample is not None
    splits = opened.read(silent) if opened.sample is None else opened.sample(_SAMPLE_ROWS)
    splits = divided_by_column(splits)
    sizes = {name: None if sampled else table.total for name, table in splits.tables.items()}
    report = DataReport(title=opened.title, licence=opened.licence, splits=sizes, sampled=sampled)
    report = _examined(report, splits, choice)
    try:
        check_sizes(choice)
        opened.refuse()
    except DataError as error:
        report = replace(report, proposal=None, problems=(str(error), *report.problems))
    return report


def _with_tree(report: DataReport, whole: Part, hierarchy: Hierarchy) -> DataReport:
    rows, images = np.unique(whole.labels, axis=0, return_counts=True)
    if len(rows) < 2:
        return report
    named = tuple(tuple(hierarchy.names[level][id_] for level, id_ in enumerate(row)) for row in rows[:SHOWN])
    counts = tuple(map(len, hierarchy.names))
    return replace(report, levels=hierarchy.levels, classes=named, images=tuple(images[:SHOWN].tolist()), counts=counts)


def _unreadable(selection: Selection) -> tuple[str, Callable[[], list[str]]]:
    """Return how many images cannot be read, and what notes what is left out with them, or raises where it is too much;
    that is known where all were looked at.
    """
    looked, goods, whole, names = 0, [], True, list[str]()
    parts = (selection.train, selection.test)
    total = sum(len(part.rows) for part in parts)
    for part in parts:
        fetch = EncodedImages(selection=selection, part=part)
        good, count, all_ = unreadable_rows(fetch, len(part.rows), LOOK_SECONDS * len(part.rows) / total)
        looked, whole, names = looked + count, whole and all_, names + fetch.some_names(np.flatnonzero(~good))
        goods.append(good)
    bad = sum(int((~good).sum()) for good in goods)
    said = unreadable(bad, names, "" if looked == total else f"Of {looked:,} images looked at, of {total:,}, ")
    return said, lambda: losses(selection, parts, goods)[1:] if whole and bad else []


def _examined(report: DataReport, splits: Splits, choice: DataChoice) -> DataReport:
    """Add to the report what the steps of :func:`trainers.data.labelled.selection.select` say, as far as they go."""
    notes, shared = list(splits.notes), None
    try:
        used = used_splits(splits, choice, notes)
        tables = list(used.values())
        report = replace(
            report,
            image_columns=tuple(tables[0].image_columns),
            labels=(
                *(describe(name, kind, join(tables, name)) for name, kind in candidates(tables)[0].items()),
                *others(tables),
            ),
        )
        columns = choose_columns(used, choice, splits.tree, notes)
        whole, hierarchy = all_rows(used, columns, choice, [])
        report = _with_tree(report, whole, hierarchy)
        report = replace(report, dropped=dropped_classes(used, columns, choice, whole)[:SHOWN])
        if not report.sampled:  # a sample has too few rows to say which classes there are
            selection = select_rows(used, columns, choice, notes)
            shared = selection.share_classes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's remarks about odd files
            if not report.sampled:
                seen = glance(selection, choice.image_size)
                pixels, note = pixel_range(selection, SPANNED) if seen.wide else (None, "")
                notes += [note] if note else []
                said, left_out = _unreadable(selection)
                report = replace(report, unreadable=said, pixel_range=pixels)
                notes += left_out()
            shown = samples(tables, columns.images, whole, hierarchy, report.pixel_range)
            report = replace(report, samples=shown)
    except DataError as error:
        return replace(report, problems=(str(error),), notes=tuple(notes))
    train, test = (*used, None)[:2]
    proposal = replace(
        choice,
        image_column=columns.images[0],
        label_columns=columns.labels,
        train_split=train,
        test_split=test,
    )
    return replace(report, proposal=proposal, share_classes=shared, notes=tuple(notes))


def peek_source(choice: DataChoice, count: int) -> Tensor:
    """Read images of a folder or Hub dataset, evenly spread over the split to train on, or over its first rows if it
    would have to be downloaded.

    Returns:
        uint8 ``[n, C, S, S]`` with S as the dataset would be read; n is at most ``count``.

    Raises:
        DataError: the dataset cannot be opened, or none of these images can be decoded.
    """
    check_sizes(choice)
    opened = open_source(choice)
    opened.refuse()
    splits = opened.read(silent) if opened.sample is None else opened.sample(_SAMPLE_ROWS)
    table = next(iter(used_splits(divided_by_column(splits), choice, []).values()))
    column = image_column(table, choice.image_column)
    every = _part(np.arange(len(table)))
    selection = Selection(
        tables=(table,),
        columns=(column,),
        train=every,
        test=every,
        hierarchy=Hierarchy(levels=("class",), names=(("none",),)),
        share_classes=None,
        notes=(),
    )
    seen = look(EncodedImages(selection=selection, part=every), len(table))
    rows = np.unique(np.linspace(0, len(table) - 1, min(count, len(table))).astype(np.int64))
    fetch, side = EncodedImages(selection=selection, part=_part(rows)), choice.image_size or seen.side
    shape = (len(rows), 1 if seen.grey else 3, side, side)
    pixels = pixel_range(replace(selection, test=_part(every.rows[:0])), SPANNED)[0] if seen.wide else None
    try:
        images = _decoded(fetch, shape, pixels)
    except (ColourFoundError, WideFoundError):
        images = _decoded(fetch, (len(rows), 3, side, side), pixels or spans_of(fetch).range)
    if not len(images):
        raise DataError(
            f"None of {len(rows)} images in column {column!r} could be decoded. Choose another column, or a dataset of "
            f"{ACCEPTED} files."
        )
    return torch.from_numpy(images)


def _part(rows: np.ndarray) -> Part:
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Part(owner=nothing, rows=rows, labels=nothing[:, None])


def _decoded(fetch: EncodedImages, shape: tuple[int, int, int, int], range_: PixelRange | None) -> np.ndarray:
    """Decode the images that can be decoded."""
    pixels = np.zeros(shape, np.uint8)
    return pixels[decode_all(fetch, pixels, lambda _: None, range_ or UNDECIDED).good]
