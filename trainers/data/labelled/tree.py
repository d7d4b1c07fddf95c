"""Label columns to a tree: ids that are unique across parents, counted from 0 at every level, with names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainers.data.labelled.table import Codes
from trainers.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Labels int64 [N, L], finest first, and the hierarchy that names them."""

    labels: np.ndarray
    hierarchy: Hierarchy


def grow(levels: Sequence[str], columns: Sequence[Codes]) -> Tree:
    """Make ids that are unique across parents.

    A value that occurs under two parents (``small`` under shirts and under shoes) becomes two classes, named
    ``shirts / small`` and ``shoes / small``; a value under one parent keeps its own name.

    Args:
        levels: names of the levels, finest first.
        columns: as many columns of N values, none missing.
    """
    ids: list[np.ndarray] = []
    names: list[tuple[str, ...]] = []
    for codes in reversed(columns):  # from the coarsest, so that each level can ask for its parent
        parents = ids[-1] if ids else np.zeros_like(codes.values)
        pairs, level_ids = np.unique(np.stack([codes.values, parents]), axis=1, return_inverse=True)
        child, parent = pairs
        shared = np.isin(child, child[1:][child[1:] == child[:-1]])
        names.append(
            tuple(
                f"{names[-1][p]} / {codes.names[o]}" if double else codes.names[o]
                for o, p, double in zip(child, parent, shared, strict=True)
            )
        )
        ids.append(level_ids.reshape(-1).astype(np.int64))
    labels = np.stack(ids[::-1], axis=1)
    return Tree(labels=labels, hierarchy=Hierarchy(levels=tuple(levels), names=tuple(names[::-1])))


def compact(tree: Tree) -> Tree:
    """Drop names that no row uses and count ids from 0 again."""
    columns, names = [], []
    for level in range(tree.hierarchy.depth):
        used, ids = np.unique(tree.labels[:, level], return_inverse=True)
        columns.append(ids.reshape(-1).astype(np.int64))
        names.append(tuple(tree.hierarchy.names[level][index] for index in used))
    labels = np.stack(columns, axis=1)
    return Tree(labels=labels, hierarchy=Hierarchy(levels=tree.hierarchy.levels, names=tuple(names)))


def level_names(depth: int) -> tuple[str, ...]:
    """Return names for so many levels, finest first, as those of nested folders are called."""
    return ("class", "group", "supergroup", *(f"supergroup {n}" for n in range(2, depth - 1)))[:depth]
