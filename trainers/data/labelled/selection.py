"""From tables to two lists of rows with labels: columns, splits and classes are decided before any image is decoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trainers.cells import counted, some
from trainers.config import DataChoice
from trainers.data.labelled.chosen_columns import Columns, choose_columns, level_names
from trainers.data.labelled.columns import image_column, label_kinds, listed, read_one_hot
from trainers.data.labelled.hierarchies import above, planted, superclasses
from trainers.data.labelled.rows import LEAST_IMAGES, Part, Selection, Tree, compact, grow, with_role
from trainers.data.labelled.splits import cap, divide, divide_images, pick_splits, repeated
from trainers.data.labelled.table import LabelCodes, Splits, SplitTable
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy
from trainers.parameters import Choice


def divided(
    whole: Part, classes: Sequence[str], used: Mapping[str, SplitTable], choice: DataChoice, notes: list[str]
) -> tuple[Part, Part, int]:
    """Return the rows to train on, those to test on, and how many classes the splits share.

    Args:
        classes: names of the finest ones.

    Raises:
        DataError: too few classes with two images, or where images are held out too few images.
    """
    tables = tuple(used.values())
    if choice.held_out == "classes":
        whole, roles = _without_singles(whole, with_role(whole, tables), classes, notes)
        train, test, shared = _by_classes(whole, roles, tuple(used), choice.seed, notes)
    else:
        train, test, shared = _by_images(whole, tuple(used), choice.seed, notes)
    train, test = (_capped(part, choice, title, notes) for part, title in ((train, "training"), (test, "test")))
    train, test = (_of_all(part, tables) for part in (train, test))
    return train, test, shared


def _without_singles(
    whole: Part, roles: np.ndarray, classes: Sequence[str], notes: list[str]
) -> tuple[Part, np.ndarray]:
    """Leave out the classes of a single image, but those in a gallery, which are there to be passed over.

    Args:
        roles: rows that are queries or of a gallery, bool [n].

    Returns:
        the rows that stay, and which of them have a role.
    """
    several = repeated(whole.labels[:, 0]) | roles
    alone = [classes[label] for label in np.unique(whole.labels[~several, 0])]
    if alone:
        what = "class with a single image is" if len(alone) == 1 else "classes with a single image are"
        notes.append(f"{len(alone):,} {what} left out: {some(alone)}; a class needs two.")
    whole = whole.take(several)
    left = len(np.unique(whole.labels[:, 0]))
    if left < 2:
        only = "has one class only" if left or not alone else f"has {counted(len(alone), 'class')} of one image each"
        raise DataError(f"Several classes with at least two images each were needed; this dataset {only}.")
    return whole, roles[several]


def _by_classes(
    whole: Part, roles: np.ndarray, names: tuple[str, ...], seed: int, notes: list[str]
) -> tuple[Part, Part, int]:
    """Return train and test rows without a common finest class, and how many classes the splits share.

    Args:
        roles: rows that are queries or of a gallery, bool [n].
    """
    classes = len(np.unique(whole.labels[:, 0]))
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
    if roles.any() and not roles.all():  # what is trained on has no role
        train, test = whole.take(side & ~roles), whole.take(~side & roles)
    else:
        train, test = whole.take(side), whole.take(~side)
    halves = [len(np.unique(part.labels[:, 0])) for part in (train, test)]
    why = f"{names[0]} and {names[1]} share {counted(len(shared), 'class')}, so: " if len(shared) else ""
    notes.append(f"{why}{counted(halves[0], 'class')} for training, {halves[1]} for testing (random, seed {seed}).")
    return train, test, len(shared)


def _by_images(whole: Part, names: tuple[str, ...], seed: int, notes: list[str]) -> tuple[Part, Part, int]:
    """Return train and test rows of the same classes, and how many classes the splits share: the splits themselves
    where they share classes, else a fifth of each class's images is tested on.
    """
    if len(whole.rows) < LEAST_IMAGES:
        raise DataError(
            f"At least {LEAST_IMAGES} images were needed to train on some and test on others; got {len(whole.rows)}."
        )
    classes, first = whole.labels[:, 0], whole.owner == 0
    shared = np.intersect1d(classes[first], classes[~first])
    if len(shared):
        known = np.isin(classes, classes[first])
        if not known.all():
            others = counted(int((~known).sum()), "image")
            notes.append(f"{others} of {names[1]!r} left out: {names[0]!r} has no such classes.")
        _check_pairs(whole.take(~first & known), f"the split {names[1]!r}")
        return whole.take(first), whole.take(~first & known), len(shared)
    side = divide_images(classes, seed)
    _check_pairs(whole.take(~side), "the test, a fifth of the images of each class,")
    notes.append(f"A fifth of the images of each class is for testing (random, seed {seed}).")
    return whole.take(side), whole.take(~side), 0


def _check_pairs(test: Part, where: str) -> None:
    """Refuse a test in which no image has another one of its class to find; images without classes need none."""
    classes = test.labels[:, 0]
    if len(np.unique(classes)) > 1 and not repeated(classes).any():
        raise DataError(
            f"A class with at least two test images was needed, so that one can find the other; {where} has "
            f"{counted(len(classes), 'class')} of one image each. Add images (four of a class "
            "give two), or hold out whole classes (held out: classes)."
        )
    if len(np.unique(classes)) > 1 and len(classes) < LEAST_IMAGES:
        raise DataError(
            f"At least {LEAST_IMAGES} test images were needed; {where} has {len(classes)}, and no number over so few "
            "says anything. Add images, or hold out whole classes (held out: classes)."
        )


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
        f"The cap of {choice.max_images} kept {len(kept)} of {counted(len(part.labels), title + ' image')}, "
        f"in {after} of {counted(before, 'class')}, chosen by seed {choice.seed}."
    )
    return replace(part.take(kept), before_cap=len(part.labels))


def _of_all(part: Part, tables: Sequence[SplitTable]) -> Part:
    """Return a part with the rows that there were before the cap, where tables are parts of splits those of these."""
    if all(table.whole is None for table in tables):
        return part
    read, whole = sum(map(len, tables)), sum(table.whole or len(table) for table in tables)
    return replace(part, before_cap=round((part.before_cap or len(part.rows)) * whole / read))


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
    used: Mapping[str, SplitTable],
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
    train, test, shared = divided(whole, hierarchy.names[0], used, choice, notes)
    return Selection(
        tables=tuple(used.values()),
        columns=columns.images,
        train=train,
        test=test,
        hierarchy=hierarchy,
        share_classes=None if len(used) == 1 else shared > 0,
        notes=tuple(notes),
        labelled=len(np.unique(train.labels[:, 0])) > 1,
        least=2 if choice.held_out == "classes" else 1,
    )


def all_rows(
    used: Mapping[str, SplitTable],
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
    source, parameters = superclasses(choice)
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
        lost = int((~known).sum())
        notes.append(f"{counted(lost, 'image')} without a label {'was' if lost == 1 else 'were'} left out.")
    levels = titles if titles is not None and len(titles) == len(labels) else level_names(labels)
    tree = grow(levels, [LabelCodes(values=codes[label].values[known], names=codes[label].names) for label in labels])
    whole = Part(owner=owner[known], rows=rows[known], labels=tree.labels)
    if source.levels is None:
        return whole, tree.hierarchy
    made = source.levels(parameters, tree.hierarchy.names[0])
    notes += made.notes
    under, kept = above(tree, made)
    if not kept.all():
        gone = [tree.hierarchy.names[0][row] for row in np.unique(tree.labels[~kept, 0])]
        notes.append(f"Dropped, with {counted(int((~kept).sum()), 'image')}: {some(gone)}.")
    return replace(whole.take(kept), labels=under.labels), under.hierarchy


def dropped_classes(
    used: Mapping[str, SplitTable], columns: Columns, choice: DataChoice, kept: Part
) -> tuple[tuple[str, int], ...]:
    """Return the classes that are read but not among the rows that :func:`all_rows` kept, with their images."""
    source, parameters = superclasses(choice)
    if source.levels is None or source.of_files(parameters):
        return ()
    whole, hierarchy = all_rows(used, columns, replace(choice, hierarchy=Choice(name="as_read")), [])
    if len(whole.rows) == len(kept.rows):
        return ()
    counts = np.bincount(whole.labels[:, 0], minlength=len(hierarchy.names[0]))
    rows = {(owner, row) for owner, row in zip(kept.owner.tolist(), kept.rows.tolist(), strict=True)}
    there = np.array([each in rows for each in zip(whole.owner.tolist(), whole.rows.tolist(), strict=True)])
    return tuple((hierarchy.names[0][label], int(counts[label])) for label in np.unique(whole.labels[~there, 0]))


def _by_file(
    whole: Part, tables: Sequence[SplitTable], images: Sequence[str], choice: DataChoice, notes: list[str]
) -> tuple[Part, Hierarchy]:
    """Return the rows whose file names say a class, and the tree of these."""
    source, parameters = superclasses(choice)
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


def used_splits(splits: Splits, choice: DataChoice, notes: list[str]) -> dict[str, SplitTable]:
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
    if not any(table.made_of for table in used.values()) and (said := read_one_hot(tuple(used.values()))):
        notes.append(said)
    for name, table in used.items():
        if table.total > len(table):
            notes.append(f"Only the first {len(table):,} rows of {name!r} are read.")
    return used


def settle(parts: Sequence[Part], hierarchy: Hierarchy) -> tuple[list[Part], Hierarchy]:
    """Count ids from 0 over both parts together and drop unused names."""
    tree = compact(Tree(labels=np.concatenate([part.labels for part in parts]), hierarchy=hierarchy))
    pieces = np.split(tree.labels, np.cumsum([len(part.labels) for part in parts])[:-1])
    settled = [replace(part, labels=piece) for part, piece in zip(parts, pieces, strict=True)]
    return settled, tree.hierarchy


def _has_labels(test: SplitTable, train: SplitTable, choice: DataChoice) -> bool:
    wanted = choice.label_columns or tuple(label_kinds(train))
    source, parameters = superclasses(choice)
    return source.of_files(parameters) or not wanted or any(name in test.kinds for name in wanted)
