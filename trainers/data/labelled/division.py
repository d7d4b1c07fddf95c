"""The rows to train on and those to test on: where they are divided, and how many of each are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trainers.config import DataChoice
from trainers.data.labelled.rows import Part, with_role
from trainers.data.labelled.splits import cap, divide, divide_images, repeated
from trainers.data.labelled.table import Table
from trainers.errors import DataError


def divided(whole: Part, used: Mapping[str, Table], choice: DataChoice, notes: list[str]) -> tuple[Part, Part, int]:
    """Return the rows to train on, those to test on, and how many classes the splits share.

    Raises:
        DataError: too few classes with two images, or where images are held out too few images.
    """
    tables = tuple(used.values())
    if choice.held_out == "classes":
        train, test, shared = _by_classes(whole, with_role(whole, tables), tuple(used), choice.seed, notes)
    else:
        train, test, shared = _by_images(whole, tuple(used), choice.seed, notes)
    train, test = (_capped(part, choice, title, notes) for part, title in ((train, "training"), (test, "test")))
    train, test = (_of_all(part, tables) for part in (train, test))
    return train, test, shared


def _by_classes(
    whole: Part, roles: np.ndarray, names: tuple[str, ...], seed: int, notes: list[str]
) -> tuple[Part, Part, int]:
    """Return train and test rows without a common finest class, and how many classes the splits share; classes of a
    single image are left out, but those in a gallery, which are there to be passed over.

    Args:
        roles: rows that are queries or of a gallery, bool [n].

    Raises:
        DataError: too few classes.
    """
    several = repeated(whole.labels[:, 0]) | roles
    singles = len(np.unique(whole.labels[~several, 0]))
    if singles:
        many = "classes with a single image are" if singles > 1 else "class with a single image is"
        notes.append(f"{singles} {many} left out; a class needs two.")
    whole, roles = whole.take(several), roles[several]
    classes = len(np.unique(whole.labels[:, 0]))
    if classes < 2:
        what = "has one class only" if classes or not singles else f"has {singles} classes of one image each"
        raise DataError(f"Several classes with at least two images each were needed; this dataset {what}.")
    first = whole.owner == 0
    shared = np.intersect1d(whole.labels[first, 0], whole.labels[~first, 0])
    sides = [len(np.unique(whole.labels[side, 0])) for side in (first, ~first)]
    if not len(shared) and min(sides) >= 2:
        return whole.take(first), whole.take(~first), 0
    if classes < 4:
        raise DataError(
            f"At least 4 classes were needed, since training and test use different ones; this dataset has {classes}. "
            "Fewer are enough when images of the same classes are held out (held out: images)."
        )
    side = divide(whole.labels, seed)
    if roles.any() and not roles.all():  # what is trained on has no role
        train, test = whole.take(side & ~roles), whole.take(~side & roles)
    else:
        train, test = whole.take(side), whole.take(~side)
    halves = [len(np.unique(part.labels[:, 0])) for part in (train, test)]
    why = f"{names[0]} and {names[1]} share {len(shared)} classes, so: " if len(shared) else ""
    notes.append(f"{why}{halves[0]} classes for training, {halves[1]} for testing (random, seed {seed}).")
    return train, test, len(shared)


def _by_images(whole: Part, names: tuple[str, ...], seed: int, notes: list[str]) -> tuple[Part, Part, int]:
    """Return train and test rows of the same classes, and how many classes the splits share: the splits themselves
    where they share classes, else a fifth of each class's images is tested on.

    Raises:
        DataError: too few images.
    """
    if len(whole.rows) < 3:
        raise DataError(f"At least 3 images were needed, two to train on and one to test on; got {len(whole.rows)}.")
    classes, first = whole.labels[:, 0], whole.owner == 0
    shared = np.intersect1d(classes[first], classes[~first])
    if len(shared):
        known = np.isin(classes, classes[first])
        if not known.all():
            notes.append(f"{int((~known).sum())} images of {names[1]!r} are of classes that {names[0]!r} has not.")
        return whole.take(first), whole.take(~first & known), len(shared)
    side = divide_images(classes, seed)
    notes.append(f"A fifth of the images of each class is for testing (random, seed {seed}).")
    return whole.take(side), whole.take(~side), 0


def _capped(part: Part, choice: DataChoice, title: str, notes: list[str]) -> Part:
    if choice.held_out == "images":
        kept = np.sort(np.random.default_rng(choice.seed).permutation(len(part.rows))[: choice.max_images])
    else:
        kept = cap(part.labels[:, 0], choice.max_images, choice.seed)
    if len(kept) == len(part.labels):
        return part
    before, after = (len(np.unique(labels)) for labels in (part.labels[:, 0], part.labels[kept, 0]))
    if after < 2 <= before:
        raise DataError(f"At least {2 * before} images were needed; the cap allows {choice.max_images}. Raise it.")
    notes.append(
        f"The cap of {choice.max_images} kept {len(kept)} of {len(part.labels)} {title} images, "
        f"in {after} of {before} classes, chosen by seed {choice.seed}."
    )
    return replace(part.take(kept), before_cap=len(part.labels))


def _of_all(part: Part, tables: Sequence[Table]) -> Part:
    """Return a part with the rows that there were before the cap, where tables are parts of splits those of these."""
    if all(table.whole is None for table in tables):
        return part
    read, whole = sum(map(len, tables)), sum(table.whole or len(table) for table in tables)
    return replace(part, before_cap=round((part.before_cap or len(part.rows)) * whole / read))
