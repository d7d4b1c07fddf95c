"""Folds of the training data, of classes or of each class's images: one is tested on, the others are trained on, and
the test images are not used.
"""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np

from trainers.config import DataChoice
from trainers.data.base import LoadedData
from trainers.data.conditions.draws import FOLDS, stream
from trainers.data.conditions.withheld import subset
from trainers.data.labelled.splits import in_a_row
from trainers.errors import DataError

_FEWEST = 2  # classes of a fold: with one there is nothing to confuse
_WORDS = {"classes": "training classes", "images": "images of every training class"}


def deal(labels: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Deal classes to folds, parents represented in all of them.

    Classes are laid out in a row as :func:`trainers.data.labelled.splits.divide` does and dealt in turn, so that the
    classes of a parent are in the folds to within one of each other, at every level.

    Args:
        labels: int64 [N, L], finest first, a tree.

    Returns:
        int64 [N]: the fold of each row, from 0.

    Raises:
        DataError: there are too few classes.
    """
    classes = len(np.unique(labels[:, 0]))
    if classes < _FEWEST * folds:
        raise DataError(
            f"{folds} folds need {_FEWEST * folds} training classes, {_FEWEST} for each; there are {classes}. Choose "
            f"{classes // _FEWEST} folds or fewer."
            if classes >= 2 * _FEWEST
            else f"Folds need {2 * _FEWEST} training classes or more; there are {classes}. Choose other images."
        )
    row = in_a_row(labels, stream(seed, FOLDS))
    fold_of = np.empty(int(row.max()) + 1, dtype=np.int64)
    fold_of[row] = np.arange(len(row)) % folds
    dealt: np.ndarray = fold_of[labels[:, 0]]
    return dealt


def deal_images(labels: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Deal the images of every class to folds, in a random order; each fold has as many of a class to within one.

    Args:
        labels: int64 [N, L], finest first.

    Returns:
        int64 [N]: the fold of each row, from 0.

    Raises:
        DataError: a class has fewer images than there are folds.
    """
    few = int(np.unique(labels[:, 0], return_counts=True)[1].min())
    if few < folds:
        raise DataError(
            f"{folds} folds of images need {folds} training images of every class; one has {few}. Choose fewer folds, "
            "or images of which every class has more."
        )
    shuffled = stream(seed, FOLDS).permutation(len(labels))
    ordered = shuffled[np.argsort(labels[shuffled, 0], kind="stable")]
    _, first, counts = np.unique(labels[ordered, 0], return_index=True, return_counts=True)
    dealt = np.empty(len(labels), dtype=np.int64)
    dealt[ordered] = (np.arange(len(labels)) - np.repeat(first, counts)) % folds
    return dealt


def tested_on_a_fold(data: LoadedData, choice: DataChoice) -> tuple[LoadedData, np.ndarray]:
    """Return the dataset with a fold of its training data to test on and the others to train on: of classes, or of the
    images of every class where images are held out.

    Returns:
        The dataset, and the rows of its training images among those of ``data``, int64 [n] ascending.

    Raises:
        DataError: there are too few classes, or images of one.
    """
    labels, conditions, seed = data.train.labels.numpy(), choice.conditions, choice.seed
    fold = (deal_images if choice.held_out == "images" else deal)(labels, conditions.folds, seed)
    test = fold == conditions.fold - 1
    train_rows, test_rows = np.flatnonzero(~test), np.flatnonzero(test)
    units = labels[:, 0] if choice.held_out == "classes" else np.arange(len(labels))
    trained, tested = (len(np.unique(units[rows])) for rows in (train_rows, test_rows))
    note = (
        f"Fold {conditions.fold} of {conditions.folds} of the {_WORDS[choice.held_out]}, divided by seed {seed}: "
        f"{trained} {choice.held_out} to train on, {tested} to test on. The {len(data.test)} test images are not used."
    )
    mark = hashlib.blake2b(f"{data.fingerprint} {seed} {conditions.folds} {conditions.fold}".encode(), digest_size=16)
    folded = dataclasses.replace(
        data,
        train=subset(data.train, train_rows),
        test=subset(data.train, test_rows),
        notes=(*data.notes, note),
        fingerprint=mark.hexdigest(),
    )
    return folded, train_rows
