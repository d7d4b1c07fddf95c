"""Training classes, and images of each training class, that are left out."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import torch
from torch import Tensor

from trainers.config import Conditions
from trainers.data import cache, settings
from trainers.data.base import ImageSet, LoadedData
from trainers.data.conditions.draws import CLASSES, IMAGES, stream
from trainers.errors import DataError

_AT_ONCE = 256  # images copied at a time


def subset(part: ImageSet, rows: np.ndarray) -> ImageSet:
    """Return the images of ascending ``rows`` int64 [n]."""
    if len(rows) == len(part):
        return part
    chosen = torch.from_numpy(rows)
    mark = hashlib.blake2b(f"{part.chosen} ".encode() + np.ascontiguousarray(rows, np.int64).tobytes(), digest_size=8)
    return dataclasses.replace(
        part,
        images=_copied(part.images, rows),
        labels=part.labels[chosen],
        true_labels=None if part.true_labels is None else part.true_labels[chosen],
        attributes={name: values[chosen] for name, values in part.attributes.items()},
        before_cap=0,
        names=tuple(part.names[row] for row in rows.tolist()) if part.names else (),
        chosen=f"/{mark.hexdigest()}",
    )


def _copied(images: Tensor, rows: np.ndarray) -> Tensor:
    """Copy the images of ``rows``; too many for the memory go to a file of the disk cache, which nothing else reads and
    which is gone with the process.
    """
    if len(rows) * images[0].numel() <= settings.memory_bytes():
        return images[torch.from_numpy(rows)]
    with cache.draft("subsets") as draft:
        if draft is None:  # without a disk all images are in memory already, and so are these
            return images[torch.from_numpy(rows)]
        pixels = draft.allocate("images", (len(rows), *images.shape[1:]))
        source = images.numpy()
        for first in range(0, len(rows), _AT_ONCE):
            pixels[first : first + _AT_ONCE] = source[rows[first : first + _AT_ONCE]]
        return draft.read(settings.memory_bytes())["images"]


_FEWEST = 2  # classes that stay, and images that stay of each


def kept_classes(classes: np.ndarray, share: float, turn: np.ndarray) -> np.ndarray:
    """Return which images stay when a share of the classes is left out.

    Args:
        classes: int64 [N].
        turn: float, by class; the classes of the lowest numbers go first.

    Returns:
        bool [N]; of C classes, round(share * C) are left out.

    Raises:
        DataError: fewer than two would stay.
    """
    there = np.unique(classes)
    gone = round(share * len(there))
    if gone and len(there) - gone < _FEWEST:
        raise DataError(
            f"At least {_FEWEST} training classes must stay; {share * 100:g} % of {len(there)} leaves "
            f"{len(there) - gone}. Withhold at most {max(0, len(there) - _FEWEST)} of them."
        )
    return ~np.isin(classes, there[np.argsort(turn[there])][:gone])


def kept_images(classes: np.ndarray, share: float, turn: np.ndarray) -> np.ndarray:
    """Return which images stay when a share of each class is left out.

    Args:
        classes: int64 [N].
        turn: float [N]; of a class, the images of the lowest numbers go first.

    Returns:
        bool [N]; of a class of n images, round(share * n) are left out, but two stay, or all if there are fewer.
    """
    order = np.lexsort((turn, classes))
    _, first, inverse, counts = np.unique(classes[order], return_index=True, return_inverse=True, return_counts=True)
    gone = np.array([max(0, min(round(share * count), count - _FEWEST)) for count in counts.tolist()], dtype=np.int64)
    kept = np.empty(len(classes), dtype=bool)
    kept[order] = np.arange(len(order)) - first[inverse] >= gone[inverse]
    return kept


def withhold(
    data: LoadedData, conditions: Conditions, seed: int, whole: int, rows: np.ndarray | None
) -> tuple[LoadedData, np.ndarray]:
    """Withhold training classes and images of a dataset.

    Args:
        whole: training images of the dataset before any condition.
        rows: int64 [N] ascending, those of ``data`` among them; None: all.

    Returns:
        The dataset, and the rows of its training images among the whole, int64 [n] ascending.

    Raises:
        DataError: too few classes would stay.
    """
    rows = np.arange(whole) if rows is None else rows
    notes = list(data.notes)
    labels = data.train.labels[:, 0].numpy()
    kept = np.arange(len(rows))
    if conditions.withheld_classes:
        turn = stream(seed, CLASSES).random(len(data.hierarchy.names[0]))
        kept = np.flatnonzero(kept_classes(labels, conditions.withheld_classes, turn))
        before, after = (len(np.unique(each)) for each in (labels, labels[kept]))
        notes.append(
            f"{before - after} of {before} training classes were withheld ({conditions.withheld_classes * 100:g} %), "
            f"chosen by seed {seed}; {len(kept)} of {len(rows)} training images are left."
        )
    if conditions.withheld_images:
        turn = stream(seed, IMAGES).random(whole)[rows[kept]]
        before, kept = len(kept), kept[kept_images(labels[kept], conditions.withheld_images, turn)]
        notes.append(
            f"{before - len(kept)} of {before} training images were withheld ({conditions.withheld_images * 100:g} % "
            f"of each class, of which two stay), chosen by seed {seed}."
        )
    return dataclasses.replace(data, train=subset(data.train, kept), notes=tuple(notes)), rows[kept]
