"""The label tree of labels that somebody brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainers.errors import DataError
from trainers.hierarchy import Hierarchy

MOST_LEVELS = 8
UNLABELLED = "no label"
LONGEST = 200  # letters of a name


def tree_of(labels: Mapping[str, Sequence[Any]], count: int) -> tuple[np.ndarray, Hierarchy]:
    """Make the tree of some levels, whatever their order: the one with the most classes is the finest.

    A class is told apart by the classes above it: of one name below two others there are two.

    Args:
        labels: of each level a name or number an image.
        count: of images.

    Returns:
        int32 ``[N, L]``, finest first, and the tree. Without labels all images are of one class, as elsewhere.

    Raises:
        DataError: a level has not one label an image, or there are too many levels.
    """
    if len(labels) > MOST_LEVELS:
        raise DataError(f"At most {MOST_LEVELS} levels of labels were needed; got {len(labels)}.")
    labels = labels or {"class": [UNLABELLED] * count}
    texts = {str(level): _texts(str(level), values, count) for level, values in labels.items()}
    order = sorted(texts, key=lambda level: -len(set(texts[level])))  # of equal ones the first that is given
    columns, names = [], []
    for at in range(len(order)):
        above = [texts[other] for other in order[at:]]
        codes: dict[tuple[str, ...], int] = {}
        columns.append([codes.setdefault(path, len(codes)) for path in zip(*above, strict=True)])
        names.append(tuple(path[0] for path in codes))
    made = np.array(columns, dtype=np.int32).T
    return np.ascontiguousarray(made), Hierarchy(levels=tuple(order), names=tuple(names))


def _texts(level: str, values: Sequence[Any], count: int) -> list[str]:
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(values) != count:
        raise DataError(f"A {level} for each of {count:,} images was needed; got {len(values):,}.")
    if any(value is None or value != value for value in values):
        raise DataError(
            f"Every image needs a {level}; {sum(value is None or value != value for value in values):,} have none."
        )
    return [str(value)[:LONGEST] for value in values]
