"""Share of captions that name a class still in the image, after an object is removed and, as a reference, before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trainers.metrics._symbols import INDICATOR
from trainers.metrics.catalogue.odmap import SOURCE
from trainers.metrics.judged import Judged
from trainers.metrics.measure import Measure


def present(judged: Judged, k: int) -> np.ndarray:
    """Share of the top-k captions that name a class still in the image."""
    return np.where(judged.present, (judged.verdicts[:, :k] % 2 == 1).mean(1), np.nan)


_AFTER = Measure(
    name="present_at_k",
    title="names what remains @k",
    sentence="Share of the top-k captions that name a class still in the image. Not a metric of the paper.",
    family="image_text",
    equation=r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in C\setminus R:\ c\in y_i]",
    symbols={
        "k": "the cut-off",
        "y_i": "the caption at rank i",
        "R": "classes that were removed",
        r"C\setminus R": "classes still in the image",
        "c": "a class",
    }
    | INDICATOR,
    order=130,
    judge=present,
    **SOURCE,
)
DESCRIPTORS = (
    _AFTER,
    replace(
        _AFTER,
        name="original_present_at_k",
        title="names what remains, original image @k",
        sentence="The same for the original images: share of the top-k captions that name what will remain.",
        order=131,
        judge=None,
    ),
)
