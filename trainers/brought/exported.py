"""The program's own table of embeddings, of which every model has the same points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from trainers.brought.files import Table
from trainers.brought.levels import cells_of
from trainers.errors import DataError

IDENTITY = ("k", "step", "arm", "loss", "point", "row")
"""Columns with which a table of *Download* begins; the levels follow them."""
_AFTER = ("x", "y", "vector")


def is_exported(table: Table) -> bool:
    """Return whether a table is the program's own."""
    return table.column == _AFTER[-1] and set(IDENTITY) <= set(table.columns)


def level_names(columns: Iterable[str]) -> list[str]:
    """Return the levels among the columns of such a table, the finest first."""
    return [name for name in columns if name not in (*IDENTITY, *_AFTER)]


def split_export(table: Table) -> list[Table]:
    """Return a table a model, in the order of the run, with the points in their order.

    Raises:
        DataError: a model has other points than the first.
    """
    arms, points = (np.array(cells_of(table.columns[name]), np.int64) for name in ("arm", "point"))
    titles = cells_of(table.columns["loss"])
    levels = {name: list(table.columns[name].to_pylist()) for name in level_names(table.columns)}
    parts: list[Table] = []
    for arm in np.unique(arms):
        rows = np.flatnonzero(arms == arm)
        rows = rows[np.argsort(points[rows], kind="stable")]
        columns = {name: [words[row] for row in rows] for name, words in levels.items()}
        parts.append(replace(table, name=str(titles[rows[0]]), embeddings=table.embeddings[rows], columns=columns))
        if (points[rows] != points[rows][: len(rows)]).any() or len(rows) != len(parts[0].embeddings):
            raise DataError(f"Every model needs the same points in {table.name}; they have others.")
    return parts
