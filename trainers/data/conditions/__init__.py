"""Hard conditions of training: folds of the training classes, withheld classes and images, and label noise.

Each is made of the images of a dataset once they are loaded, for every source alike, and drawn by the data seed. Test
images are untouched, but for folds, which have test images of their own.
"""

from __future__ import annotations

import dataclasses

from trainers.config import Conditions, DataChoice
from trainers.data.base import LoadedData
from trainers.data.conditions.folds import tested_on_a_fold
from trainers.data.conditions.noise import with_noise
from trainers.data.conditions.withheld import withhold
from trainers.errors import DataError


def check(choice: DataChoice) -> None:
    """Refuse conditions that no images meet.

    Raises:
        DataError: with what to change.
    """
    conditions = choice.conditions
    if conditions.folds == 1:
        raise DataError("Two folds or more were needed, to train on some and test on one; got 1. Use 0 for no folds.")
    if conditions.folds and conditions.fold > conditions.folds:
        raise DataError(f"A fold from 1 to {conditions.folds} was needed; got {conditions.fold}.")


def without(choice: DataChoice) -> DataChoice:
    """Return the choice without its hard conditions: what is read."""
    return dataclasses.replace(choice, conditions=Conditions())


def under(data: LoadedData, choice: DataChoice) -> LoadedData:
    """Put a dataset under the conditions of ``choice``; itself if there are none.

    Raises:
        DataError: the images do not meet them; with what to change.
    """
    conditions = choice.conditions
    if not conditions.harder:
        return data
    if not data.labelled:
        raise DataError(
            f"Hard conditions are about classes, and the images of {data.title} have none. Train without label noise, "
            "withheld classes or images, and folds, or choose images with classes."
        )
    data = dataclasses.replace(data, title=", ".join([data.title, *conditions.words()]))
    whole = len(data.train)  # draws are per image of the whole split, so that they stay what they are under the others
    rows = None
    if conditions.folds:
        data, rows = tested_on_a_fold(data, choice)
    data, rows = withhold(data, conditions, choice.seed, whole, rows)
    return with_noise(data, conditions, choice.seed, whole, rows)


__all__ = ["check", "under", "without"]
