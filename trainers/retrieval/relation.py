"""Relates the labels of one dataset to the classes of another by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class Relation:
    """The known relation of the images of a gallery to a query.

    Attributes:
        labels: int64 ``[N, L]`` of the gallery in the classes of the query's dataset, -1: of none of them; None: it is
            not known.
        sentence: why not, or by what they were related; empty where both are of one dataset.
    """

    labels: np.ndarray | None
    sentence: str = ""


def related(labels: np.ndarray, hierarchy: Hierarchy, query: Hierarchy) -> Relation:
    """Express labels ``[N, M]`` of ``hierarchy`` in the classes of ``query``, of L levels.

    Levels with the same name match, and so do the only levels of two datasets; classes match by name, ignoring case.
    Unless every level of the query has a match and some class has, the relation is not known.
    """
    if hierarchy == query:
        return Relation(labels=labels)
    matches = _matches(hierarchy, query)
    if matches is None:
        return Relation(
            labels=None,
            sentence=f"How related the results are is not known: the query has the levels {', '.join(query.levels)}, "
            f"and the gallery {', '.join(hierarchy.levels)}.",
        )
    columns, common = [], 0
    for level, column in enumerate(matches):
        ids = {_plain(name): number for number, name in enumerate(query.names[level])}
        table = np.array([ids.get(_plain(name), -1) for name in hierarchy.names[column]], np.int64)
        common += int((table >= 0).sum())
        columns.append(table[labels[:, column]])
    if not common:
        return Relation(
            labels=None,
            sentence="How related the results are is not known: query and gallery have no class name in common.",
        )
    return Relation(labels=np.stack(columns, axis=1), sentence="Classes of query and gallery were compared by name.")


def _matches(hierarchy: Hierarchy, query: Hierarchy) -> list[int] | None:
    """Return the level of ``hierarchy`` that matches each level of ``query``; None: one has no match."""
    if hierarchy.depth == query.depth == 1:
        return [0]
    known = {_plain(name): level for level, name in enumerate(hierarchy.levels)}
    matches = [known.get(_plain(name), -1) for name in query.levels]
    return None if -1 in matches else matches


def _plain(name: str) -> str:
    return name.strip().casefold()
