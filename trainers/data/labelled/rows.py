"""The rows of a labelled dataset that are decoded, with their labels and encoded images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trainers.cells import counted
from trainers.data.base import ROLE
from trainers.data.labelled.table import Table
from trainers.hierarchy import Hierarchy

NAMED = 3
"""Files that are named of those that cannot be read."""
UNREADABLE = "could not be read"


def unreadable(count: int, names: Sequence[str], looked: str = "") -> str:
    """Say how many images could not be read, with some of their names; empty: none.

    Args:
        looked: how many were looked at, in words; empty: all.
    """
    if not count:
        return ""
    shown = [*names[:NAMED], *([f"{count - NAMED:,} more"] if count > NAMED else [])]
    which = f": {', '.join(shown)}" if names else ""
    were = "were" if count > 1 else "was"
    return f"{looked}{counted(count, 'image')} {UNREADABLE} and {were} skipped{which}."


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows of one split: ``owner`` [n] says which table, ``rows`` [n] which row of it; ``labels`` int64 [n, L].

    ``before_cap``: rows there were before the cap; 0 where it took none.
    """

    owner: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    before_cap: int = 0

    def take(self, index: np.ndarray) -> Part:
        """Select some of the rows (indices or a mask)."""
        return replace(self, owner=self.owner[index], rows=self.rows[index], labels=self.labels[index])


def with_role(part: Part, tables: Sequence[Table]) -> np.ndarray:
    """Return the rows of a part that are queries or of the gallery of a test, bool [n]."""
    known = np.zeros(len(part.rows), dtype=bool)
    for owner, table in enumerate(tables):
        if ROLE in table.attributes:
            rows = part.owner == owner
            known[rows] = table.attributes[ROLE].values[part.rows[rows]] >= 0
    return known


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The rows of a dataset that will be decoded, and their labels.

    Attributes:
        columns: the image column of each table.
        share_classes: whether two splits share finest classes, so that classes are divided; None if there is one split.
        labelled: False: there are no classes; every label is 0.
        least: images that a class needs in a split, classes of fewer are left out of it.
    """

    tables: tuple[Table, ...]
    columns: tuple[str, ...]
    train: Part
    test: Part
    hierarchy: Hierarchy
    share_classes: bool | None
    notes: tuple[str, ...]
    labelled: bool = True
    least: int = 2


@dataclass(frozen=True, kw_only=True)
class EncodedImages:
    """The encoded images of a part's rows, whichever tables they are in."""

    selection: Selection
    part: Part

    def __call__(self, rows: np.ndarray) -> list[bytes | None]:
        """Read the encoded bytes of rows of the part, given their indices int64 [n]; None where there are none."""
        images: list[bytes | None] = [None] * len(rows)
        for table, column, indices, inner in self._by_table(rows):
            for index, image in zip(indices, table.images(column, inner), strict=True):
                images[index] = image
        return images

    def names(self) -> tuple[str, ...]:
        """Return the file name of every row of the part; nothing if none has one."""
        names = [""] * len(self.part.rows)
        for table, column, positions, inner in self._by_table(np.arange(len(names))):
            for row, name in zip(positions, table.names(column, inner), strict=True):
                names[row] = name
        return tuple(names) if any(names) else ()

    def some_names(self, rows: np.ndarray) -> list[str]:
        """Return the file names of the first of these rows, of :data:`NAMED` at most; nothing if they have none."""
        names = self.names() if len(rows) else ()
        return [names[row] for row in rows[:NAMED]] if names else []

    def names_or_rows(self, rows: np.ndarray) -> list[str]:
        """Return the file names of these rows, or their numbers where they have none."""
        names = self.names() if len(rows) else ()
        return [names[row] if names else f"row {row}" for row in rows]

    def attributes(self) -> dict[str, list[str]]:
        """Return what the tables know of the rows beside their classes, by name; of each row, or nothing."""
        known: dict[str, list[str]] = {}
        for table, _, positions, inner in self._by_table(np.arange(len(self.part.rows))):
            for name, codes in table.attributes.items():
                cells = known.setdefault(name, [""] * len(self.part.rows))
                for row, value in zip(positions, codes.values[inner], strict=True):
                    cells[row] = codes.names[value] if value >= 0 else ""
        return {name: cells for name, cells in known.items() if all(cells)}

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """Return how many bytes these are, int64 [n], as far as it can be told without reading them."""
        sizes = np.zeros(len(rows), dtype=np.int64)
        for table, column, positions, inner in self._by_table(rows):
            sizes[positions] = table.sizes(column, inner)
        return sizes

    def _by_table(self, rows: np.ndarray) -> Iterator[tuple[Table, str, np.ndarray, np.ndarray]]:
        owners = self.part.owner[rows]
        for owner in np.unique(owners):
            positions = np.flatnonzero(owners == owner)
            yield (
                self.selection.tables[owner],
                self.selection.columns[owner],
                positions,
                self.part.rows[rows[positions]],
            )
