"""From tables to two lists of rows with labels: columns, splits and classes are decided before any decoding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from trainers.config import DataChoice
from trainers.data.labelled.columns import (
    LabelColumn,
    candidates,
    chain,
    describe,
    determines,
    image_column,
    join,
    label_kinds,
    listed,
)
from trainers.data.labelled.hierarchies import HIERARCHIES, HierarchyDescriptor
from trainers.data.labelled.hierarchies.base import above, planted, some
from trainers.data.labelled.rows import Part, Selection
from trainers.data.labelled.splits import cap, divide, divide_images, pick_splits, repeated
from trainers.data.labelled.table import Codes, Splits, Table
from trainers.data.labelled.tree import Tree, compact, grow
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy
from trainers.parameters import Choice

_PLAIN = ("label", "labels", "label name", "class name", "target", "y", "cls")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that are read.

    Attributes:
        images: the image column of each table.
        labels: the label columns, finest first.
        codes: their values over all tables.
    """

    images: tuple[str, ...]
    labels: tuple[str, ...]
    codes: Mapping[str, Codes]


def select(splits: Splits, choice: DataChoice, titles: tuple[str, ...] | None = None) -> Selection:
    """Decide everything: splits, then columns, then rows.

    Args:
        titles: names of the levels, finest first, instead of the column names.

    Raises:
        DataError: no images, no labels, or too few classes with two images.
    """
    notes = list(splits.notes)
    used = used_splits(splits, choice, notes)
    return select_rows(used, choose_columns(used, choice, splits.tree, notes), choice, notes, titles)


def select_rows(
    used: Mapping[str, Table],
    columns: Columns,
    choice: DataChoice,
    notes: list[str],
    titles: tuple[str, ...] | None = None,
) -> Selection:
    """Select the rows to train and to test on, their labels, and the tree.

    Raises:
        DataError: too few classes with two images, or where images are held out too few images.
    """
    whole, hierarchy = all_rows(used, columns, choice, notes, titles)
    by_classes = choice.held_out == "classes"
    divided = _divided if by_classes else _divided_images
    train, test, shared = divided(whole, tuple(used), choice.seed, notes)
    train, test = (_capped(part, choice, title, notes) for part, title in ((train, "training"), (test, "test")))
    train, test = (_of_all(part, tuple(used.values())) for part in (train, test))
    return Selection(
        tables=tuple(used.values()),
        columns=columns.images,
        train=train,
        test=test,
        hierarchy=hierarchy,
        share_classes=None if len(used) == 1 else shared > 0,
        notes=tuple(notes),
        labelled=len(np.unique(train.labels[:, 0])) > 1,
        least=2 if by_classes else 1,
    )


def all_rows(
    used: Mapping[str, Table],
    columns: Columns,
    choice: DataChoice,
    notes: list[str],
    titles: tuple[str, ...] | None = None,
) -> tuple[Part, Hierarchy]:
    """Return the rows of all tables that have a label, and the tree; without label columns all rows, in one class.

    Raises:
        DataError: the superclasses that were asked for are not those of these classes, or files.
    """
    names, tables, labels, codes = tuple(used), tuple(used.values()), columns.labels, columns.codes
    owner = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    rows = np.concatenate([np.arange(len(table)) for table in tables])
    source, parameters = _superclasses(choice)
    if source.of_files(parameters):
        return _by_file(Part(owner=owner, rows=rows, labels=rows[:, None]), tables, columns.images, choice, notes)
    if not labels and source.levels:
        raise DataError("The images have no classes, so there are none to put under superclasses. Use names of files.")
    if not labels:
        whole = Part(owner=owner, rows=rows, labels=np.zeros((len(rows), 1), dtype=np.int64))
        return whole, Hierarchy(levels=("class",), names=(("none",),))
    known = np.logical_and.reduce([codes[label].values >= 0 for label in labels])
    if len(tables) == 2 and not known[owner == 1].any():
        notes.append(f"Split {names[1]!r} has no labels, so {names[0]!r} serves for training and test.")
    elif not known.all():
        notes.append(f"{int((~known).sum())} images without a label were left out.")
    levels = titles if titles is not None and len(titles) == len(labels) else level_names(labels)
    tree = grow(levels, [Codes(values=codes[label].values[known], names=codes[label].names) for label in labels])
    whole = Part(owner=owner[known], rows=rows[known], labels=tree.labels)
    if source.levels is None:
        return whole, tree.hierarchy
    made = source.levels(parameters, tree.hierarchy.names[0])
    notes += made.notes
    under, kept = above(tree, made)
    if not kept.all():
        gone = [tree.hierarchy.names[0][row] for row in np.unique(tree.labels[~kept, 0])]
        notes.append(f"{len(gone):,} classes are dropped, {int((~kept).sum()):,} images: {some(gone)}.")
    return replace(whole.take(kept), labels=under.labels), under.hierarchy


def dropped_classes(
    used: Mapping[str, Table], columns: Columns, choice: DataChoice, kept: Part
) -> tuple[tuple[str, int], ...]:
    """Return the classes that are read but not among the rows that :func:`all_rows` kept, with their images."""
    source, parameters = _superclasses(choice)
    if source.levels is None or source.of_files(parameters):
        return ()
    whole, hierarchy = all_rows(used, columns, replace(choice, hierarchy=Choice(name="as_read")), [])
    if len(whole.rows) == len(kept.rows):
        return ()
    counts = np.bincount(whole.labels[:, 0], minlength=len(hierarchy.names[0]))
    rows = {(owner, row) for owner, row in zip(kept.owner.tolist(), kept.rows.tolist(), strict=True)}
    there = np.array([each in rows for each in zip(whole.owner.tolist(), whole.rows.tolist(), strict=True)])
    return tuple((hierarchy.names[0][label], int(counts[label])) for label in np.unique(whole.labels[~there, 0]))


def _superclasses(choice: DataChoice) -> tuple[HierarchyDescriptor, Any]:
    descriptor: HierarchyDescriptor = HIERARCHIES[choice.hierarchy.name]
    return descriptor, descriptor.checked(choice.hierarchy.parameters)


def _by_file(
    whole: Part, tables: Sequence[Table], images: Sequence[str], choice: DataChoice, notes: list[str]
) -> tuple[Part, Hierarchy]:
    """Return the rows whose file names say a class, and the tree of these."""
    source, parameters = _superclasses(choice)
    assert source.levels is not None
    names = [
        name
        for owner, (table, column) in enumerate(zip(tables, images, strict=True))
        for name in table.names(column, whole.rows[whole.owner == owner])
    ]
    if not all(names):
        raise DataError("The images of this dataset have no file names, so these say no classes. Use a label column.")
    made = source.levels(parameters, names)
    notes += made.notes
    kept = np.array([name in made.paths for name in names])
    tree = planted([name for name in names if name in made.paths], np.arange(int(kept.sum())), made)
    return replace(whole.take(kept), labels=tree.labels), tree.hierarchy


def used_splits(splits: Splits, choice: DataChoice, notes: list[str]) -> dict[str, Table]:
    """Return one or two splits by name, that to train on first; splits without rows or images do not count.

    Raises:
        DataError: nothing is left.
    """
    if not splits.tables:
        raise DataError("This dataset has no rows. Choose another dataset, subset or split.")
    with_images = [name for name, table in splits.tables.items() if table.image_columns]
    if not with_images:
        image_column(next(iter(splits.tables.values())), choice.image_column)
    train, test = pick_splits(with_images, choice.train_split, choice.test_split)
    if test is not None and not _has_labels(splits.tables[test], splits.tables[train], choice):
        notes.append(f"Split {test!r} has none of the label columns of {train!r}.")
        test = None
    used = {name: splits.tables[name] for name in (train, test) if name is not None}
    unused = [name for name in splits.tables if name not in used]
    if unused:
        notes.append(f"Used: {' and '.join(used)}. Not used: {listed(unused)}.")
    for name, table in used.items():
        if table.total > len(table):
            notes.append(f"Only the first {len(table):,} rows of {name!r} are read.")
    return used


def choose_columns(
    used: Mapping[str, Table], choice: DataChoice, tree: tuple[str, ...] | None, notes: list[str]
) -> Columns:
    """Choose the image and label columns of the splits in use.

    Args:
        tree: label columns that the layout of the dataset gives.

    Raises:
        DataError: a wanted column is missing or cannot be read as that, or none is found.
    """
    tables = tuple(used.values())
    images = tuple(image_column(table, choice.image_column) for table in tables)
    source, parameters = _superclasses(choice)
    if source.of_files(parameters):
        return Columns(images=images, labels=(), codes={})
    wanted = choice.label_columns or tree
    if wanted:
        codes = {name: _wanted(tables, name) for name in wanted}
        return Columns(images=images, labels=_in_order(wanted, codes, notes), codes=codes)
    common, unread = candidates(tables)
    codes = {name: join(tables, name) for name in common}
    columns = [describe(name, kind, codes[name]) for name, kind in common.items()]
    labels = chain(columns, codes)
    if unread:
        notes.append(f"{unread:,} columns were not looked at as labels; choose the label column if it is one of them.")
    if not labels and choice.held_out == "images":
        notes.append("No label column was found, so the images have no classes.")
    elif not labels and tree is not None:
        raise DataError(
            "The images lie in one folder. Put them in one sub-folder per class, or write a table metadata.csv beside "
            "them with the columns file_name and label."
        )
    elif not labels:
        raise DataError(_no_labels(columns, tables[0]))
    dropped = [column.name for column in columns if column.likely and column.name not in labels]
    if dropped:
        notes.append(f"Labels: {', '.join(labels)}. Not part of that tree and left out: {listed(dropped)}.")
    return Columns(images=images, labels=labels, codes=codes)


def _wanted(tables: Sequence[Table], name: str) -> Codes:
    kinds = [label_kinds(table) for table in tables]
    if not all(name in each for each in kinds):
        common = [each for each in kinds[0] if all(each in other for other in kinds)]
        raise DataError(f"Label column {name!r} was asked for; {_offer(common, tables[0])}")
    codes = join(tables, name)
    if codes.reason:
        raise DataError(f"Label column {name!r} was asked for; {codes.reason}. {_offer(kinds[0], tables[0])}")
    return codes


def _divided(whole: Part, names: tuple[str, ...], seed: int, notes: list[str]) -> tuple[Part, Part, int]:
    """Train and test rows without a common finest class, and how many classes the splits share; classes of a single
    image are left out.

    Raises:
        DataError: too few classes.
    """
    several = repeated(whole.labels[:, 0])
    singles = len(np.unique(whole.labels[~several, 0]))
    if singles:
        notes.append(f"{singles} classes with a single image are left out; a class needs two.")
    whole = whole.take(several)
    classes = len(np.unique(whole.labels[:, 0]))
    if classes < 2:
        what = "has one class only" if classes or not singles else f"has {singles} classes of one image each"
        raise DataError(f"Several classes with at least two images each were needed; this dataset {what}.")
    first = whole.owner == 0
    shared = np.intersect1d(whole.labels[first, 0], whole.labels[~first, 0])
    sides = [len(np.unique(whole.labels[side, 0])) for side in (first, ~first)]
    if not len(shared) and min(sides) >= 2:
        return whole.take(first), whole.take(~first), 0
    if classes < 4:
        raise DataError(
            f"At least 4 classes were needed, since training and test use different ones; this dataset has {classes}. "
            "Fewer are enough when images of the same classes are held out (held out: images)."
        )
    side = divide(whole.labels, seed)
    train, test = whole.take(side), whole.take(~side)
    halves = [len(np.unique(part.labels[:, 0])) for part in (train, test)]
    why = f"{names[0]} and {names[1]} share {len(shared)} classes, so: " if len(shared) else ""
    notes.append(f"{why}{halves[0]} classes for training, {halves[1]} for testing (random, seed {seed}).")
    return train, test, len(shared)


def _divided_images(whole: Part, names: tuple[str, ...], seed: int, notes: list[str]) -> tuple[Part, Part, int]:
    """Train and test rows of the same classes, and how many classes the splits share: the splits themselves where they
    share classes, else a fifth of each class's images is tested on.

    Raises:
        DataError: too few images.
    """
    if len(whole.rows) < 3:
        raise DataError(f"At least 3 images were needed, two to train on and one to test on; got {len(whole.rows)}.")
    classes, first = whole.labels[:, 0], whole.owner == 0
    shared = np.intersect1d(classes[first], classes[~first])
    if len(shared):
        known = np.isin(classes, classes[first])
        if not known.all():
            notes.append(f"{int((~known).sum())} images of {names[1]!r} are of classes that {names[0]!r} has not.")
        return whole.take(first), whole.take(~first & known), len(shared)
    side = divide_images(classes, seed)
    notes.append(f"A fifth of the images of each class is for testing (random, seed {seed}).")
    return whole.take(side), whole.take(~side), 0


def settle(parts: Sequence[Part], hierarchy: Hierarchy) -> tuple[list[Part], Hierarchy]:
    """Count ids from 0 over both parts together and drop unused names."""
    tree = compact(Tree(labels=np.concatenate([part.labels for part in parts]), hierarchy=hierarchy))
    pieces = np.split(tree.labels, np.cumsum([len(part.labels) for part in parts])[:-1])
    settled = [replace(part, labels=piece) for part, piece in zip(parts, pieces, strict=True)]
    return settled, tree.hierarchy


def level_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Name levels after columns: ``fine_label`` is ``fine``, ``label`` is ``class``; as they are if that makes two
    equal.
    """
    names = tuple(column.replace("_", " ").removesuffix(" label").strip() for column in columns)
    names = tuple("class" if name.lower() in _PLAIN else name for name in names)
    return names if len(set(names)) == len(names) and all(names) else tuple(columns)


def _has_labels(test: Table, train: Table, choice: DataChoice) -> bool:
    wanted = choice.label_columns or tuple(label_kinds(train))
    source, parameters = _superclasses(choice)
    return source.of_files(parameters) or not wanted or any(name in test.kinds for name in wanted)


def _in_order(wanted: tuple[str, ...], codes: dict[str, Codes], notes: list[str]) -> tuple[str, ...]:
    """Order columns finest first if they are a chain in some order; otherwise as asked, to be combined."""
    order = tuple(sorted(wanted, key=lambda name: -len(np.unique(codes[name].values))))
    nested = all(determines(codes[a].values, codes[b].values) for a, b in pairwise(order))
    if nested and order != tuple(wanted):
        notes.append(f"Label columns were put in order, finest first: {', '.join(order)}.")
    return order if nested else tuple(wanted)


def _capped(part: Part, choice: DataChoice, title: str, notes: list[str]) -> Part:
    if choice.held_out == "images":
        kept = np.sort(np.random.default_rng(choice.seed).permutation(len(part.rows))[: choice.max_images])
    else:
        kept = cap(part.labels[:, 0], choice.max_images, choice.seed)
    if len(kept) == len(part.labels):
        return part
    before, after = (len(np.unique(labels)) for labels in (part.labels[:, 0], part.labels[kept, 0]))
    if after < 2 <= before:
        raise DataError(f"At least {2 * before} images were needed; the cap allows {choice.max_images}. Raise it.")
    notes.append(
        f"The cap of {choice.max_images} kept {len(kept)} of {len(part.labels)} {title} images, "
        f"in {after} of {before} classes, chosen by seed {choice.seed}."
    )
    return replace(part.take(kept), before_cap=len(part.labels))


def _of_all(part: Part, tables: Sequence[Table]) -> Part:
    """Return a part with the rows that there were before the cap, where tables are parts of splits those of these."""
    if all(table.whole is None for table in tables):
        return part
    read, whole = sum(map(len, tables)), sum(table.whole or len(table) for table in tables)
    return replace(part, before_cap=round((part.before_cap or len(part.rows)) * whole / read))


def _offer(common: Collection[str], table: Table) -> str:
    if common:
        return f"columns that can be labels are: {listed(common)}."
    return f"no column can be a label; the columns are: {listed(table.kinds)}."


def _no_labels(columns: Sequence[LabelColumn], table: Table) -> str:
    usable = [column for column in columns if column.usable]
    text = f"No label column was found. The columns are: {listed(table.kinds)}. "
    if usable:
        return text + f"If one of these is the class, choose it: {listed(column.name for column in usable)}."
    return text + "A dataset needs a column that says which class an image belongs to."
