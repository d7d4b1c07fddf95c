"""Hallucination@k, after an object is removed and, as a reference, before."""

from __future__ import annotations

import numpy as np

from trainers.metrics.judged import Judged
from trainers.metrics.measure import Measure


def hallucination(judged: Judged, k: int) -> np.ndarray:
    """Share of the top-k captions that name a removed class."""
    return np.where(judged.removed, (judged.verdicts[:, :k] < 2).mean(1), np.nan)


_SOURCE = {
    "paper": "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval, Kim et al., CVPR workshops 2023",
    "url": "https://arxiv.org/abs/2304.03391",
    "equation": r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in R:\ c\in y_i]",
}
DESCRIPTORS = (
    Measure(
        name="hallucination_at_k",
        title="hallucination@k",
        short="halluc.@k",
        sentence="Share of the top-k captions that name a removed class. Not a metric of the paper.",
        family="image_text",
        better="down",
        order=120,
        judge=hallucination,
        **_SOURCE,
    ),
    Measure(
        name="original_names_at_k",
        title="names it, original image @k",
        sentence="The same for the original images: share of the top-k captions that name what will be removed.",
        family="image_text",
        better="",
        order=121,
        **_SOURCE,
    ),
)
