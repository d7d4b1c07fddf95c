"""A column that says of every row which split it is of, or whether it is a query or of the gallery of a test."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from trainers.cells import counted
from trainers.data.base import GALLERY, QUERY, ROLE
from trainers.data.labelled.splits import TEST, is_split, rank_as_test, role_of
from trainers.data.labelled.table import Codes, Splits, Table

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


class _SomeRows(Table):
    """Some rows of a table."""

    def __init__(self, table: Table, rows: np.ndarray, column: str, attributes: dict[str, Codes]) -> None:
        self.kinds = {name: kind for name, kind in table.kinds.items() if name != column}
        self.total = len(rows)
        self.unread, self.attributes = table.unread, attributes
        self._table, self._rows = table, rows
        self._codes = {}

    def __len__(self) -> int:
        return len(self._rows)

    def codes(self, column: str) -> Codes:
        if column not in self._codes:
            whole = self._table.codes(column)
            self._codes[column] = Codes(values=whole.values[self._rows], names=whole.names, reason=whole.reason)
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


def _divided(splits: Splits, table: Table, column: str, codes: Codes, values: set[str]) -> Splits:
    known = [codes.names[value] if value >= 0 else "" for value in codes.values]
    of_row, roles = with_roles(known)
    tables: dict[str, Table] = {}
    for split in dict.fromkeys(filter(None, of_row)):
        rows = np.flatnonzero([each == split for each in of_row])
        attributes = dict(table.attributes)
        if roles is not None and roles[rows[0]]:
            place = {QUERY: 0, GALLERY: 1, None: -1}
            attributes[ROLE] = Codes(values=np.array([place[roles[row]] for row in rows]), names=(QUERY, GALLERY))
        tables[split] = _SomeRows(table, rows, column, attributes)
    notes = [*splits.notes, *column_note(column, values)]
    if missing := of_row.count(""):
        have, were = ("images have", "were") if missing > 1 else ("image has", "was")
        notes.append(f"{missing:,} {have} no split and {were} left out.")
    if roles is not None:
        notes.append(roles_note(roles))
    return Splits(tables=tables, notes=tuple(notes), tree=splits.tree)
