"""The label tree, and how related a result is to its query: the levels of the tree on which they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from trainers.cells import counted
from trainers.errors import DataError

LONGEST_NAME = 40
"""Letters of the name that somebody gives a level."""


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The label tree. Level 0 is the finest.

    Attributes:
        levels: name of each level, finest first, e.g. ``("product", "kind", "aisle")``.
        names: for each level, the name of every class id at that level. Ids are unique across parents: two images
            that agree at a level agree at every coarser one.
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]

    @property
    def depth(self) -> int:
        """Number of levels L."""
        return len(self.levels)


def renamed(levels: Sequence[str], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return levels with the names that somebody gives them, finest first; an empty one, and those left out, stay.

    Raises:
        DataError: more names than levels, one that is no short line of text, or the same one twice.
    """
    given = [name.strip() for name in names or ()]
    if len(given) > len(levels):
        raise DataError(
            f"The images have {counted(len(levels), 'level')} ({', '.join(levels)}), and {len(given)} names were given "
            f"for them: {', '.join(given)[:120]}. Give one for each level, finest first."
        )
    for name in given:
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise DataError(
                f"The name of a level is a line of up to {LONGEST_NAME} letters; got {name!r:.80}. Give a shorter one."
            )
    made = tuple(name or level for name, level in zip_longest(given, levels, fillvalue=""))
    if len({name.casefold() for name in made}) < len(made):
        raise DataError(f"The levels would be called {', '.join(made)}. Give each a name of its own.")
    return made


def severity_words(hierarchy: Hierarchy) -> list[str]:
    """Return ``words[n]`` for a result that shares ``n`` levels with the query, 0 to L."""
    depth = hierarchy.depth
    return ["unrelated", *(f"same {hierarchy.levels[depth - shared]}" for shared in range(1, depth + 1))]


@dataclass(frozen=True, kw_only=True)
class Ancestor:
    """The finest class that two images have in common.

    Attributes:
        level: 0 the finest.
        level_name, name: of the level and of the class.
    """

    level: int
    level_name: str
    name: str


def shared_levels(labels: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Count the levels on which each image agrees with the query: 0 (unrelated) to L (same finest class).

    Args:
        labels: integers ``[..., L]``, finest first; -1: of no class that the query's dataset has.
        query: integers ``[L]``, or any shape that broadcasts.

    Returns:
        int64 ``[...]``.
    """
    return (np.asarray(labels) == np.asarray(query)).sum(axis=-1)


def missed_when_wrong(shared: np.ndarray, depth: int) -> np.ndarray:
    """Count the levels on which a wrong result disagrees with its query, 1 (a near miss) to L (unrelated); NaN where it
    is of the query's finest class: float64 of the shape of ``shared``.

    Args:
        shared: of :func:`shared_levels`.
        depth: L.
    """
    return np.where(shared < depth, np.float64(depth) - shared, np.nan)


def shares_when_wrong(shares: np.ndarray) -> np.ndarray | None:
    """Return the shares by severity of the results of another class than their query, float64 ``[L]``; None: there are
    none.

    Args:
        shares: float ``[L + 1]``, of all results.
    """
    wrong = shares[:-1].sum()
    return shares[:-1] / wrong if wrong > 0 else None


def common_ancestor(labels: np.ndarray, query: np.ndarray, hierarchy: Hierarchy) -> Ancestor | None:
    """Return the finest class that an image with labels ``[L]`` shares with the query ``[L]``; None: it shares none."""
    levels = np.flatnonzero(np.asarray(labels) == np.asarray(query))
    if not len(levels):
        return None
    level = int(levels[0])
    return Ancestor(level=level, level_name=hierarchy.levels[level], name=hierarchy.names[level][int(query[level])])


def class_path(labels: np.ndarray, hierarchy: Hierarchy) -> tuple[str, ...]:
    """Return the names of an image's classes, finest first."""
    return tuple(names[int(label)] for names, label in zip(hierarchy.names, labels, strict=True))
