"""What is left of a dataset without the images that cannot be read, and what is said of those."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trainers.cells import counted, some
from trainers.data.labelled.rows import EncodedImages, Part, Selection, unreadable, with_role
from trainers.data.labelled.splits import repeated
from trainers.errors import DataError


def kept_rows(selection: Selection, part: Part, good: np.ndarray) -> np.ndarray:
    """Return the rows of a part that are read, ascending: without those of classes of which too little is left.

    Args:
        good: rows whose images can be read, bool [n].
    """
    kept = np.flatnonzero(good)
    if selection.least < 2:
        return kept
    return kept[repeated(part.labels[kept, 0]) | with_role(part.take(kept), selection.tables)]


def losses(selection: Selection, parts: Sequence[Part], goods: Sequence[np.ndarray]) -> list[str]:
    """Return notes about images that cannot be read, and about classes that are left out with them.

    Args:
        parts: those of the selection; goods: rows whose images can be read, bool [n] each.

    Raises:
        DataError: too little is left.
    """
    lost, names, classes, alone = 0, list[str](), list[np.ndarray](), 0
    for part, good in zip(parts, goods, strict=True):
        kept = kept_rows(selection, part, good)
        if len(np.unique(part.labels[kept, 0])) < selection.least:
            total, bad = sum(map(len, goods)), sum(int((~each).sum()) for each in goods)
            raise DataError(
                f"{bad} of {counted(total, 'image')} in column {selection.columns[0]!r} could not be decoded; too few "
                "are left to use."
            )
        names += EncodedImages(selection=selection, part=part).some_names(np.flatnonzero(~good))
        lost += int((~good).sum())
        alone += int(good.sum()) - len(kept)
        classes.append(np.setdiff1d(part.labels[:, 0], part.labels[kept, 0]))
    notes = [unreadable(lost, names)] if lost else []
    if alone:
        only = "the only readable images of their classes" if alone > 1 else "the only readable image of its class"
        notes.append(f"{counted(alone, 'more image', 'was')} left out with them: {only}.")
    gone = np.unique(np.concatenate(classes))
    if len(gone):
        named = some([selection.hierarchy.names[0][each] for each in gone])
        notes.append(f"{counted(len(gone), 'class', 'is')} left out with them: {named}.")
    return notes
