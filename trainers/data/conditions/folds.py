"""Folds of the training classes: one is tested on, the others are trained on, and the test images are not used."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np

from trainers.config import Conditions
from trainers.data.base import LoadedData
from trainers.data.conditions.draws import FOLDS, stream
from trainers.data.conditions.subset import subset
from trainers.data.labelled.splits import in_a_row
from trainers.errors import DataError

_FEWEST = 2  # classes of a fold: with one there is nothing to confuse


def deal(labels: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Deal classes to folds, parents represented in all of them.

    Classes are laid out in a row as :func:`trainers.data.labelled.splits.divide` does and dealt in turn, so that the
    classes of a parent are in the folds to within one of each other, at every level.

    Args:
        labels: int64 [N, L], finest first, a tree.

    Returns:
        int64 [N]: the fold of each row, from 0.
    """
    row = in_a_row(labels, stream(seed, FOLDS))
    fold_of = np.empty(int(row.max()) + 1, dtype=np.int64)
    fold_of[row] = np.arange(len(row)) % folds
    dealt: np.ndarray = fold_of[labels[:, 0]]
    return dealt


def tested_on_a_fold(data: LoadedData, conditions: Conditions, seed: int) -> tuple[LoadedData, np.ndarray]:
    """Return the dataset with the classes of a fold of its training classes to test on and those of the others to train
    on.

    Returns:
        The dataset, and the rows of its training images among those of ``data``, int64 [n] ascending.

    Raises:
        DataError: there are too few classes.
    """
    labels = data.train.labels.numpy()
    classes, folds = len(np.unique(labels[:, 0])), conditions.folds
    if classes < _FEWEST * folds:
        raise DataError(
            f"{folds} folds need {_FEWEST * folds} training classes, {_FEWEST} for each; there are {classes}. Choose "
            f"{classes // _FEWEST} folds or fewer."
            if classes >= 2 * _FEWEST
            else f"Folds need {2 * _FEWEST} training classes or more; there are {classes}. Choose other images."
        )
    fold = deal(labels, folds, seed)
    test = fold == conditions.fold - 1
    train_rows, test_rows = np.flatnonzero(~test), np.flatnonzero(test)
    tested = len(np.unique(labels[test, 0]))
    note = (
        f"Fold {conditions.fold} of {folds} of the training classes, divided by seed {seed}: {classes - tested} "
        f"classes to train on, {tested} to test on. The {len(data.test)} test images are not used."
    )
    mark = hashlib.blake2b(f"{data.fingerprint} {seed} {folds} {conditions.fold}".encode(), digest_size=16)
    folded = dataclasses.replace(
        data,
        train=subset(data.train, train_rows),
        test=subset(data.train, test_rows),
        notes=(*data.notes, note),
        fingerprint=mark.hexdigest(),
    )
    return folded, train_rows
