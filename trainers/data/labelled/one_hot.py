"""Columns of zeros and ones, one per class, with a single one in each row: read as one label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from trainers.cells import some
from trainers.data.labelled.columns import join, label_kinds
from trainers.data.labelled.splits import is_split
from trainers.data.labelled.table import Codes, Table

NAME = "class"
_ONES = {"1", "1.0", "yes", "true"}
_ZEROS = {"0", "0.0", "no", "false"}
_MOST_ODD = 2  # columns of zeros and ones beside those of the classes
_FEW = 12  # columns, of which some may be others
_MOST_CELLS = 50_000_000


def read_one_hot(tables: Sequence[Table]) -> str:
    """Add a label column to tables that have a column per class, and say so; empty: they have none.

    Columns of zeros and ones that are no classes, such as whether an image was checked, are left aside where the others
    have a single one in each row; a row without a one has no class.
    """
    columns = _binary(tables)
    chosen = _chosen(columns)
    if not chosen:
        counts = np.sum(list(columns.values()), axis=0)
        if len(columns) > 2 and (counts > 1).any():
            return (
                f"{len(columns)} columns of zeros and ones ({some(columns, 6)}) are not read as one column per class: "
                f"{int((counts > 1).sum()):,} rows have several ones."
            )
        return ""
    ones = np.stack([columns[name] for name in chosen], axis=1)
    values = np.where(ones.any(axis=1), ones.argmax(axis=1), -1)
    order = np.argsort(chosen)
    names, place = tuple(chosen[at] for at in order), np.argsort(order)
    codes = np.where(values >= 0, place[values], -1)
    taken = set().union(*(table.kinds for table in tables))
    name = next(each for each in (NAME, "one-hot class", *(f"{NAME} {n}" for n in range(2, 99))) if each not in taken)
    starts = np.cumsum([len(table) for table in tables])[:-1]
    for table, part in zip(tables, np.split(codes, starts), strict=True):
        table.derive(name, Codes(values=part, names=names), chosen)
    return f"{len(chosen)} columns, one per class ({some(chosen, 6)}), are read as the label {name!r}."


def _binary(tables: Sequence[Table]) -> dict[str, np.ndarray]:
    """Return the columns of zeros and ones of all tables, as bool [N]."""
    found: dict[str, np.ndarray] = {}
    most = _MOST_CELLS // max(1, sum(map(len, tables)))
    for name in list(label_kinds(tables[0]))[:most]:
        if is_split(name) or not all(name in label_kinds(table) for table in tables):
            continue
        codes = join(tables, name)
        texts = [text.lower() for text in codes.names]
        if not codes.reason and {*texts} & _ONES and {*texts} <= _ONES | _ZEROS:
            one = np.array([text in _ONES for text in texts] + [False])
            found[name] = one[codes.values]
    return found


def _chosen(columns: Mapping[str, np.ndarray]) -> list[str]:
    """Return the columns of which no row has two ones and most have one: as many as can be; nothing: there are none."""
    for odd in range(_MOST_ODD + 1 if len(columns) <= _FEW else 1):
        for left in combinations(columns, len(columns) - odd) if len(columns) - odd > 2 else ():
            counts = np.sum([columns[name] for name in left], axis=0)
            if np.max(counts) <= 1 and 2 * np.sum(counts) > len(columns[left[0]]):
                return list(left)
    return []
