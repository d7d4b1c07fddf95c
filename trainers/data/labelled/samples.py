"""A few images of a few classes, small, to see what would be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainers.data.decode import square
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.rows import Part
from trainers.data.labelled.table import Table
from trainers.data.pixel_range import PixelRange
from trainers.hierarchy import Hierarchy

CLASSES, EACH = 5, 4
SIDE = 56


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Images of one class.

    Attributes:
        names: of the class and its superclasses, finest first; empty: the images have no classes.
        images: uint8 numpy arrays ``[C, S, S]``, grey or in colour.
    """

    names: tuple[str, ...]
    images: tuple[np.ndarray, ...]


def samples(
    tables: Sequence[Table],
    columns: Sequence[str],
    whole: Part,
    hierarchy: Hierarchy,
    pixels: PixelRange | None = None,
) -> tuple[Sample, ...]:
    """Decode :data:`EACH` images of each of :data:`CLASSES` classes that lie far apart in the tree.

    Args:
        columns: the image column of each table.
        whole: rows with their labels.
        pixels: the range of values of more than 8 bits; None: of each image its own.
    """
    rows = np.unique(whole.labels[:, ::-1], axis=0)[:, ::-1]  # in order of the coarsest level first
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), CLASSES)).astype(np.int64))]
    made = []
    for labels in chosen:
        members = np.flatnonzero((whole.labels == labels).all(axis=1))
        spread = members[np.unique(np.linspace(0, len(members) - 1, min(len(members), EACH)).astype(np.int64))]
        owners = whole.owner[spread]
        pictures = [
            _picture(tables[owner], columns[owner], row, pixels)
            for owner, row in zip(owners, whole.rows[spread], strict=True)
        ]
        names = tuple(hierarchy.names[level][label] for level, label in enumerate(labels)) if len(rows) > 1 else ()
        made.append(Sample(names=names, images=tuple(each for each in pictures if each is not None)))
    return tuple(sample for sample in made if sample.images)


def _picture(table: Table, column: str, row: int, pixels: PixelRange | None) -> np.ndarray | None:
    try:
        return square(table.images(column, np.array([row]))[0] or b"", SIDE, pixels)
    except UndecodableError:
        return None
