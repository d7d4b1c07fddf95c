"""What every source of superclasses states, and how they become levels of the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from trainers.data.labelled.rows import Tree, grow
from trainers.data.labelled.table import Codes, encode
from trainers.registry import Descriptor

P = TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Classes, and what is above each.

    Attributes:
        names: of the levels, finest first; the first is that of the classes.
        paths: for every name that was given: its class, superclass and so on, as many as there are levels. The images
            of a name that has none are left out.
        notes: what is to be said of it.
    """

    names: tuple[str, ...]
    paths: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()


def _the_same(parameters: P) -> P:
    return parameters


@dataclass(frozen=True, kw_only=True)
class HierarchyDescriptor(Descriptor):
    """A source of superclasses.

    Attributes:
        levels: called with the parameters and the names of the classes, or of the files; None: the tree as it is read.
            Raises a :class:`trainers.errors.DataError` where it cannot tell of each.
        of_files: whether the names are those of the files, and no label column is read.
        pinned: replaces parameters that name a file of this machine by its content.
    """

    levels: Callable[[Any, Sequence[str]], Levels] | None
    of_files: Callable[[Any], bool] = lambda _: False
    pinned: Callable[[Any], Any] = _the_same


def above(tree: Tree, levels: Levels) -> tuple[Tree, np.ndarray]:
    """Put superclasses in place of those of a tree.

    Returns:
        the tree of the rows whose classes ``levels`` tells of, and which rows of the N these are, bool [N].
    """
    names, rows = tree.hierarchy.names[0], tree.labels[:, 0]
    known = np.array([name in levels.paths for name in names])
    kept = known[rows]
    at = np.cumsum(known) - 1
    return planted([name for name in names if name in levels.paths], at[rows[kept]], levels), kept


def planted(names: Sequence[str], rows: np.ndarray, levels: Levels) -> Tree:
    """Make the tree of rows int64 [N], each an index of ``names``, which all have a path; classes that keep their names
    keep their order.
    """
    columns = []
    for level in range(len(levels.names)):
        values = [levels.paths[name][level] for name in names]
        same = not level and values == list(names) and len(set(names)) == len(names)
        made = Codes(values=np.arange(len(names)), names=tuple(names)) if same else encode(values)
        columns.append(Codes(values=made.values[rows], names=made.names))
    return grow(levels.names, columns)
