"""Random numbers of the conditions: one stream for each, and numbers that belong to images."""

from __future__ import annotations

import numpy as np

FOLDS, CLASSES, IMAGES, NOISE = 1, 2, 3, 4
"""The streams."""


def stream(seed: int, which: int) -> np.random.Generator:
    """Return a random stream of the data seed, which no other condition and no split draws from."""
    return np.random.default_rng([seed, which])
