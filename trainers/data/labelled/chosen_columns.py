"""Which columns of the tables are read: the images, and the labels with their values, finest first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trainers.config import DataChoice
from trainers.data.labelled.columns import (
    LabelColumn,
    candidates,
    chain,
    contradictions,
    describe,
    image_column,
    join,
    label_kinds,
    listed,
)
from trainers.data.labelled.hierarchies import superclasses
from trainers.data.labelled.table import LabelCodes, SplitTable
from trainers.data.names import same_name
from trainers.errors import DataError

_PLAIN = ("label", "labels", "label name", "class name", "target", "y", "cls")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that are read.

    Attributes:
        images: the image column of each table.
        labels: the label columns, finest first.
        codes: their values over all tables.
    """

    images: tuple[str, ...]
    labels: tuple[str, ...]
    codes: Mapping[str, LabelCodes]


def choose_columns(
    used: Mapping[str, SplitTable], choice: DataChoice, tree: tuple[str, ...] | None, notes: list[str]
) -> Columns:
    """Choose the image and label columns of the splits in use.

    Args:
        tree: label columns that the layout of the dataset gives.

    Raises:
        DataError: a wanted column is missing or cannot be read as that, or none is found.
    """
    tables = tuple(used.values())
    images = tuple(image_column(table, choice.image_column) for table in tables)
    source, parameters = superclasses(choice)
    if source.of_files(parameters):
        return Columns(images=images, labels=(), codes={})
    wanted = _made(choice.label_columns, tables[0]) or tree
    if wanted:
        codes = {name: _wanted(tables, name) for name in wanted}
        order = _in_order(wanted, codes, notes)
        return Columns(images=images, labels=order, codes=_outvoted(order, codes, tables, images, notes))
    common, unread = candidates(tables)
    codes = {name: join(tables, name) for name in common}
    columns = [describe(name, kind, codes[name]) for name, kind in common.items()]
    labels = chain(columns, codes)
    if unread:
        notes.append(f"{unread:,} columns were not looked at as labels; choose the label column if it is one of them.")
    if not labels and choice.held_out == "images":
        notes.append("No label column was found, so the images have no classes.")
    elif not labels and tree is not None:
        raise DataError(
            "The images lie in one folder. Put them in one sub-folder per class, or write a table metadata.csv beside "
            "them with the columns file_name and label."
        )
    elif not labels:
        raise DataError(_no_labels(columns, tables[0]))
    dropped = [column.name for column in columns if column.likely and column.name not in labels]
    if dropped:
        notes.append(f"Labels: {', '.join(labels)}. Not part of that tree and left out: {listed(dropped)}.")
    return Columns(images=images, labels=labels, codes=_outvoted(labels, codes, tables, images, notes))


def level_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Name levels after columns: ``fine_label`` is ``fine``, ``label`` is ``class``; as they are if that makes two
    equal.
    """
    names = tuple(column.replace("_", " ").removesuffix(" label").strip() for column in columns)
    names = tuple("class" if name.lower() in _PLAIN else name for name in names)
    return names if len(set(names)) == len(names) and all(names) else tuple(columns)


def _made(wanted: tuple[str, ...] | None, table: SplitTable) -> tuple[str, ...] | None:
    """Return the columns that are wanted, in their own spelling; in place of those of one class each, the one made of
    them.
    """
    if wanted is None:
        return None
    wanted = tuple(same_name(name, table.kinds) or name for name in wanted)
    for name, of in table.made_of.items():
        if {*wanted} <= {*of}:
            return (name,)
    return wanted


def _wanted(tables: Sequence[SplitTable], name: str) -> LabelCodes:
    kinds = [label_kinds(table) for table in tables]
    if not all(name in each for each in kinds):
        common = [each for each in kinds[0] if all(each in other for other in kinds)]
        raise DataError(f"Label column {name!r} was asked for; {_offer(common, tables[0])}")
    codes = join(tables, name)
    if codes.reason:
        raise DataError(f"Label column {name!r} was asked for; {codes.reason}. {_offer(kinds[0], tables[0])}")
    return codes


def _in_order(wanted: tuple[str, ...], codes: dict[str, LabelCodes], notes: list[str]) -> tuple[str, ...]:
    """Order columns finest first if they are a chain in some order; otherwise as asked, to be combined."""
    order = tuple(sorted(wanted, key=lambda name: -len(np.unique(codes[name].values))))
    nested = all(contradictions(codes[a].values, codes[b].values) is not None for a, b in pairwise(order))
    if nested and order != tuple(wanted):
        notes.append(f"Label columns were put in order, finest first: {', '.join(order)}.")
    return order if nested else tuple(wanted)


def _outvoted(
    labels: Sequence[str],
    codes: Mapping[str, LabelCodes],
    tables: Sequence[SplitTable],
    images: Sequence[str],
    notes: list[str],
) -> dict[str, LabelCodes]:
    """Give the few rows that contradict the tree the superclass of the others of their class, and name them.

    Not where all rows of a finest class agree: then the name of a class is that of two, as genus Morus is of mulberries
    and of gannets, which the tree keeps apart.
    """
    made = dict(codes)
    for fine, coarse in pairwise(labels):
        below, above = made[fine], made[coarse]
        odd = contradictions(below.values, above.values)
        if odd is not None and fine != labels[0]:
            odd = odd[~_agree(made[labels[0]].values, above.values)[odd]]
        if odd is None or not len(odd):
            continue
        values = above.values.copy()
        for row in odd:
            others = above.values[(below.values == below.values[row]) & (above.values >= 0)]
            values[row] = np.bincount(others).argmax()
        said = [
            f"{_row_name(row, tables, images)} ({below.names[below.values[row]]}: "
            f"{above.names[above.values[row]]}, read as {above.names[values[row]]})"
            for row in odd[:3]
        ]
        more = f" and {len(odd) - 3:,} more" if len(odd) > 3 else ""
        what = "1 row contradicts" if len(odd) == 1 else f"{len(odd):,} rows contradict"
        notes.append(f"{what} the others in {coarse!r} and {'is' if len(odd) == 1 else 'are'} outvoted: "
                     f"{', '.join(said)}{more}.")  # fmt: skip
        made[coarse] = LabelCodes(values=values, names=above.names)
    return made


def _agree(finest: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """Return for every row whether its finest class has several rows, which have all the same value of ``coarse``."""
    known = np.flatnonzero((finest >= 0) & (coarse >= 0))
    width = 1 + finest.max(initial=0)
    pairs = np.unique(np.stack([finest[known], coarse[known]]), axis=1)
    one = (np.bincount(pairs[0], minlength=width) == 1) & (np.bincount(finest[known], minlength=width) > 1)
    return one[finest] & (finest >= 0)


def _row_name(row: int, tables: Sequence[SplitTable], images: Sequence[str]) -> str:
    """Return the file name of a row of several tables, one after the other; its number if it has none."""
    at = int(row)
    for table, column in zip(tables, images, strict=True):
        if at < len(table):
            return table.names(column, np.array([at]))[0] or f"row {at + 1:,}"
        at -= len(table)
    raise IndexError(row)


def _offer(common: Collection[str], table: SplitTable) -> str:
    if common:
        return f"columns that can be labels are: {listed(common)}."
    return f"no column can be a label; the columns are: {listed(table.kinds)}{_why(table)}."


def _why(table: SplitTable) -> str:
    """Say why columns are none of labels, the first of them."""
    said = [f"{name}: {why}" for name, why in list(table.unread.items())[:5]]
    return f" ({'; '.join(said)})" if said else ""


def _no_labels(columns: Sequence[LabelColumn], table: SplitTable) -> str:
    usable = [column for column in columns if column.usable]
    text = f"No label column was found. The columns are: {listed(table.kinds)}{_why(table)}. "
    if usable:
        return text + f"If one of these is the class, choose it: {listed(column.name for column in usable)}."
    return text + "A dataset needs a column that says which class an image belongs to."
