"""The choice of splits, also by a column that says them; the division of classes between train and test; the cap."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from trainers.cells import counted
from trainers.data.base import GALLERY, QUERY, ROLE
from trainers.data.labelled.table import LabelCodes, Splits, SplitTable
from trainers.errors import DataError

TEST = "test"
_TEST = (
    *(TEST, "testing", "testset", "validation", "valid", "val", "dev", "eval", "evaluation", "holdout"),
    *("gallery", "query"),
)
_TRAIN = ("train", "training", "trainval", "trainset")
_ROLES = {
    **dict.fromkeys(("query", "queries", "probe"), QUERY),
    **dict.fromkeys(("gallery", "database", "reference"), GALLERY),
}
_WHOLE = ("full", "all", "data", "corpus", "default")
_CLASSES_UNDER_CAP = 32
_IMAGES_UNDER_CAP = 8
_TESTED = 5  # of so many images of a class, one is tested on


def pick_splits(names: Sequence[str], train: str | None, test: str | None) -> tuple[str, str | None]:
    """Choose (train, test) among the split names; test is None if one split has to serve for both.

    Raises:
        DataError: a wanted split does not exist.
    """
    for wanted in (train, test):
        if wanted is not None and wanted not in names:
            raise DataError(f"There is no split {wanted!r}; this dataset has {', '.join(names)}. Pick one of them.")
    if train is None:
        rest = [name for name in names if name != test]
        likely = [name for name in rest if name.lower().startswith("train")]
        whole = [name for word in _WHOLE for name in rest if name.lower() == word]
        unnamed = [name for name in rest if rank_as_test(name) is None]
        train = next(iter([*likely, *whole, *unnamed, *rest]), test)
    if test is None:
        ranked = sorted(
            (rank_as_test(name), name) for name in names if name != train and rank_as_test(name) is not None
        )
        test = ranked[0][1] if ranked else None
    if train is None:
        raise DataError("This dataset has no split with images in it.")
    return train, None if test == train else test


def rank_as_test(name: str) -> int | None:
    """Place of a name among those that mean a test split, 0 the best; None if it is none."""
    return min((_TEST.index(word) for word in _words(name) if word in _TEST), default=None)


def is_split(name: str) -> bool:
    """Return whether a folder or a value of this name is a split."""
    words = _words(name)
    return name.isascii() and (rank_as_test(name) is not None or any(word in words for word in _TRAIN))


def role_of(name: str) -> str | None:
    """Return :data:`trainers.data.base.QUERY` or :data:`GALLERY` of a folder or value that is called so; None: none."""
    return _ROLES.get(name.strip().lower())


def _words(name: str) -> list[str]:
    """Return the words of a name, without numbers: ``train2017`` is train, ``PublicTest`` is public and test."""
    return [word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)]


def divide(labels: np.ndarray, seed: int) -> np.ndarray:
    """Divide classes in two halves, parents represented in both.

    Classes are laid out in a row, siblings side by side at every level in a random order, and taken alternately: each
    parent's classes are halved too, to within one.

    Args:
        labels: int64 [N, L], finest first, a tree.

    Returns:
        bool [N]: True for rows of the classes that go to train; the larger half if the number is odd.
    """
    return np.isin(labels[:, 0], in_a_row(labels, np.random.default_rng(seed))[::2])


def in_a_row(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Put the finest classes int64 [C] in a random order with siblings side by side at every level.

    Args:
        labels: int64 [N, L], finest first, a tree.
    """
    rows = np.unique(labels, axis=0)
    keys = [rng.permutation(int(rows[:, level].max()) + 1)[rows[:, level]] for level in range(rows.shape[1])]
    ordered: np.ndarray = rows[np.lexsort(keys), 0]  # the last key, the coarsest level, sorts first
    return ordered


def divide_images(classes: np.ndarray, seed: int) -> np.ndarray:
    """Divide the images of every class, four to train on for one to test on.

    Args:
        classes: int64 [N].

    Returns:
        bool [N]: True for rows that go to train. Of a class of n images, a fifth is tested on, rounded down, but one of
        two to four; a class of one image is trained on. Where no class would have two test images, so that none could
        find another, those of four images and more have two.
    """
    rng = np.random.default_rng(seed)
    train = np.ones(len(classes), dtype=bool)
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    _, first, counts = np.unique(classes[order], return_index=True, return_counts=True)
    tested = np.where(counts > 1, np.maximum(1, counts // _TESTED), 0)
    if tested.max(initial=0) < 2:
        tested = np.where(counts > 3, 2, tested)
    for begin, count in zip(first, tested, strict=True):
        train[order[begin : begin + count]] = False
    return train


def cap(classes: np.ndarray, maximum: int, seed: int) -> np.ndarray:
    """Choose at most ``maximum`` rows, by index, ascending: whole classes, rather than a few of each.

    Whole classes are kept in a random order while they fit. Only classes so large that fewer than 32 would fit (or all,
    if there are fewer) are themselves thinned at random, to no fewer than eight images where two classes fit so.

    Args:
        classes: int64 [N].

    Returns:
        int64 [n], n at most ``maximum``.
    """
    if len(classes) <= maximum:
        return np.arange(len(classes))
    rng = np.random.default_rng(seed)
    labels = np.unique(classes)
    most = min(max(_IMAGES_UNDER_CAP, maximum // min(_CLASSES_UNDER_CAP, len(labels))), maximum // 2)
    kept: list[np.ndarray] = []
    room = maximum
    for label in rng.permutation(labels):
        rows = np.flatnonzero(classes == label)
        if len(rows) > most:
            rows = rng.permutation(rows)[:most]
        if len(rows) <= room:
            kept.append(rows)
            room -= len(rows)
    return np.sort(np.concatenate(kept)) if kept else np.arange(0)


def repeated(classes: np.ndarray) -> np.ndarray:
    """Return bool [N]: rows whose class has at least two rows."""
    _, inverse, counts = np.unique(classes, return_inverse=True, return_counts=True)
    return (counts > 1)[inverse.reshape(-1)] if len(classes) else np.zeros(0, dtype=bool)


CALLED = ("split", "subset", "set", "partition", "fold")
"""Names that such columns have; of another name is one whose values are those of several splits."""
_MOST_SPLITS = 20


def says_splits(name: str, values: Collection[str]) -> bool:
    """Return whether a column of this name with these different values says the split."""
    if not values or len(values) > _MOST_SPLITS or not all(map(is_split, values)):
        return False
    trains = any(rank_as_test(value) is None for value in values)
    return name.strip().lower() in CALLED or (trains and len(values) > 1) or has_roles(values)


def has_roles(values: Collection[str]) -> bool:
    """Return whether both queries and a gallery are among the values."""
    return {role_of(value) for value in values} >= {QUERY, GALLERY}


def with_roles(values: Sequence[str]) -> tuple[list[str], list[str | None] | None]:
    """Return the split of every value, queries and gallery together being the test, and its role; None: no roles."""
    splits = [value.strip().lower() for value in values]
    if not has_roles({*splits}):
        return splits, None
    roles = [role_of(split) for split in splits]
    test = TEST if TEST not in splits else f"{QUERY} and {GALLERY}"
    return [test if role else split for split, role in zip(splits, roles, strict=True)], roles


def roles_note(roles: Sequence[str | None]) -> str:
    """Say how many queries and images of the gallery there are."""
    counts = f"{counted(roles.count(QUERY), 'query')} and a gallery of {counted(roles.count(GALLERY), 'image')}"
    return f"The test is of {counts}: each query is searched for in the gallery."


def column_note(name: str, values: Collection[str]) -> list[str]:
    """Say that a column is the split; nothing where its name says so."""
    return [] if name.strip().lower() in CALLED else [f"Column {name!r} is the split: {', '.join(sorted(values))}."]


class _SomeRows(SplitTable):
    """Some rows of a table."""

    def __init__(self, table: SplitTable, rows: np.ndarray, column: str, attributes: dict[str, LabelCodes]) -> None:
        self.kinds = {name: kind for name, kind in table.kinds.items() if name != column}
        self.total = len(rows)
        self.unread, self.attributes = table.unread, attributes
        self._table, self._rows = table, rows
        self._codes = {}

    def __len__(self) -> int:
        return len(self._rows)

    def codes(self, column: str) -> LabelCodes:
        if column not in self._codes:
            whole = self._table.codes(column)
            self._codes[column] = LabelCodes(values=whole.values[self._rows], names=whole.names, reason=whole.reason)
        return self._codes[column]

    def no_images(self, column: str) -> str:
        return self._table.no_images(column)

    def sizes(self, column: str, rows: np.ndarray) -> np.ndarray:
        return self._table.sizes(column, self._rows[rows])

    def images(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        return self._table.images(column, self._rows[rows])

    def names(self, column: str, rows: np.ndarray) -> list[str]:
        return self._table.names(column, self._rows[rows])


def divided_by_column(splits: Splits) -> Splits:
    """Divide the rows of a dataset of one split as a column of it says; as it is where none does."""
    if len(splits.tables) != 1:
        return splits
    (table,) = splits.tables.values()
    for column in [name for name, kind in table.kinds.items() if kind in ("text", "class")]:
        codes = table.codes(column)
        values = {codes.names[value] for value in np.unique(codes.values[codes.values >= 0])}
        if not codes.reason and len(values) > 1 and says_splits(column, values):
            return _divided(splits, table, column, codes, values)
    return splits


def _divided(splits: Splits, table: SplitTable, column: str, codes: LabelCodes, values: set[str]) -> Splits:
    known = [codes.names[value] if value >= 0 else "" for value in codes.values]
    of_row, roles = with_roles(known)
    tables: dict[str, SplitTable] = {}
    for split in dict.fromkeys(filter(None, of_row)):
        rows = np.flatnonzero([each == split for each in of_row])
        attributes = dict(table.attributes)
        if roles is not None and roles[rows[0]]:
            place = {QUERY: 0, GALLERY: 1, None: -1}
            attributes[ROLE] = LabelCodes(values=np.array([place[roles[row]] for row in rows]), names=(QUERY, GALLERY))
        tables[split] = _SomeRows(table, rows, column, attributes)
    notes = [*splits.notes, *column_note(column, values)]
    if missing := of_row.count(""):
        have, were = ("images have", "were") if missing > 1 else ("image has", "was")
        notes.append(f"{missing:,} {have} no split and {were} left out.")
    if roles is not None:
        notes.append(roles_note(roles))
    return Splits(tables=tables, notes=tuple(notes), tree=splits.tree)
