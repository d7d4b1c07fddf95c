"""The rows to train on and those to test on: where they are divided, and how many of each are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trainers.cells import counted, some
from trainers.config import DataChoice
from trainers.data.labelled.rows import Part, with_role
from trainers.data.labelled.splits import cap, divide, divide_images, repeated
from trainers.data.labelled.table import Table
from trainers.errors import DataError


def divided(
    whole: Part, classes: Sequence[str], used: Mapping[str, Table], choice: DataChoice, notes: list[str]
) -> tuple[Part, Part, int]:
    """Return the rows to train on, those to test on, and how many classes the splits share.

    Args:
        classes: names of the finest ones.

    Raises:
        DataError: too few classes with two images, or where images are held out too few images.
    """
    tables = tuple(used.values())
    if choice.held_out == "classes":
        whole, roles = _without_singles(whole, with_role(whole, tables), classes, notes)
        train, test, shared = _by_classes(whole, roles, tuple(used), choice.seed, notes)
    else:
        train, test, shared = _by_images(whole, tuple(used), choice.seed, notes)
    train, test = (_capped(part, choice, title, notes) for part, title in ((train, "training"), (test, "test")))
    train, test = (_of_all(part, tables) for part in (train, test))
    return train, test, shared


def _without_singles(
    whole: Part, roles: np.ndarray, classes: Sequence[str], notes: list[str]
) -> tuple[Part, np.ndarray]:
    """Leave out the classes of a single image, but those in a gallery, which are there to be passed over.

    Args:
        roles: rows that are queries or of a gallery, bool [n].

    Returns:
        the rows that stay, and which of them have a role.

    Raises:
        DataError: fewer than two classes stay.
    """
    several = repeated(whole.labels[:, 0]) | roles
    alone = [classes[label] for label in np.unique(whole.labels[~several, 0])]
    if alone:
        what = "class with a single image is" if len(alone) == 1 else "classes with a single image are"
        notes.append(f"{len(alone):,} {what} left out: {some(alone)}; a class needs two.")
    whole = whole.take(several)
    left = len(np.unique(whole.labels[:, 0]))
    if left < 2:
        only = "has one class only" if left or not alone else f"has {counted(len(alone), 'class')} of one image each"
        raise DataError(f"Several classes with at least two images each were needed; this dataset {only}.")
    return whole, roles[several]


def _by_classes(
    whole: Part, roles: np.ndarray, names: tuple[str, ...], seed: int, notes: list[str]
) -> tuple[Part, Part, int]:
    """Return train and test rows without a common finest class, and how many classes the splits share.

    Args:
        roles: rows that are queries or of a gallery, bool [n].

    Raises:
        DataError: too few classes.
    """
    classes = len(np.unique(whole.labels[:, 0]))
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
    why = f"{names[0]} and {names[1]} share {counted(len(shared), 'class')}, so: " if len(shared) else ""
    notes.append(f"{why}{counted(halves[0], 'class')} for training, {halves[1]} for testing (random, seed {seed}).")
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
            others = counted(int((~known).sum()), "image")
            notes.append(f"{others} of {names[1]!r} left out: {names[0]!r} has no such classes.")
        _check_pairs(whole.take(~first & known), f"the split {names[1]!r}")
        return whole.take(first), whole.take(~first & known), len(shared)
    side = divide_images(classes, seed)
    _check_pairs(whole.take(~side), "the test, a fifth of the images of each class,")
    notes.append(f"A fifth of the images of each class is for testing (random, seed {seed}).")
    return whole.take(side), whole.take(~side), 0


def _check_pairs(test: Part, where: str) -> None:
    """Refuse a test in which no image has another one of its class to find; images without classes need none.

    Raises:
        DataError: with what to do.
    """
    classes = test.labels[:, 0]
    if len(np.unique(classes)) > 1 and not repeated(classes).any():
        raise DataError(
            f"A class with at least two test images was needed, so that one can find the other; {where} has "
            f"{counted(len(classes), 'class')} of one image each. Add images (four of a class "
            "give two), or hold out whole classes (held out: classes)."
        )


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
        f"The cap of {choice.max_images} kept {len(kept)} of {counted(len(part.labels), title + ' image')}, "
        f"in {after} of {counted(before, 'class')}, chosen by seed {choice.seed}."
    )
    return replace(part.take(kept), before_cap=len(part.labels))


def _of_all(part: Part, tables: Sequence[Table]) -> Part:
    """Return a part with the rows that there were before the cap, where tables are parts of splits those of these."""
    if all(table.whole is None for table in tables):
        return part
    read, whole = sum(map(len, tables)), sum(table.whole or len(table) for table in tables)
    return replace(part, before_cap=round((part.before_cap or len(part.rows)) * whole / read))
