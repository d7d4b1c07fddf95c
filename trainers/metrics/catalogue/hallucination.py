"""Hallucination@k, after an object is removed and, as a reference, before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trainers.metrics._symbols import INDICATOR
from trainers.metrics.catalogue.odmap import SOURCE
from trainers.metrics.judged import Judged
from trainers.metrics.measure import Measure


def hallucination(judged: Judged, k: int) -> np.ndarray:
    """Share of the top-k captions that name a removed class."""
    return np.where(judged.removed, (judged.verdicts[:, :k] < 2).mean(1), np.nan)


_AFTER = Measure(
    name="hallucination_at_k",
    title="hallucination@k",
    short="halluc.@k",
    sentence="Share of the top-k captions that name a removed class. Not a metric of the paper.",
    family="image_text",
    better="down",
    equation=r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in R:\ c\in y_i]",
    symbols={"k": "the cut-off", "y_i": "the caption at rank i", "R": "classes that were removed", "c": "a class"}
    | INDICATOR,
    order=120,
    judge=hallucination,
    **SOURCE,
)
DESCRIPTORS = (
    _AFTER,
    replace(
        _AFTER,
        name="original_names_at_k",
        title="names it, original image @k",
        short="",
        sentence="The same for the original images: share of the top-k captions that name what will be removed.",
        better="",
        order=121,
        judge=None,
    ),
)
