"""Share of captions that name a class still in the image, after an object is removed and, as a reference, before."""

from __future__ import annotations

import numpy as np

from trainers.metrics.judged import Judged
from trainers.metrics.measure import Measure


def present(judged: Judged, k: int) -> np.ndarray:
    """Share of the top-k captions that name a class still in the image."""
    return np.where(judged.present, (judged.verdicts[:, :k] % 2 == 1).mean(1), np.nan)


_SOURCE = {
    "paper": "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval, Kim et al., CVPR workshops 2023",
    "url": "https://arxiv.org/abs/2304.03391",
    "equation": r"\frac1k\sum_{i=1}^{k}\mathbf 1[\exists c\in C\setminus R:\ c\in y_i]",
}
DESCRIPTORS = (
    Measure(
        name="present_at_k",
        title="names what remains @k",
        sentence="Share of the top-k captions that name a class still in the image. Not a metric of the paper.",
        family="image_text",
        order=130,
        judge=present,
        **_SOURCE,
    ),
    Measure(
        name="original_present_at_k",
        title="names what remains, original image @k",
        sentence="The same for the original images: share of the top-k captions that name what will remain.",
        family="image_text",
        order=131,
        **_SOURCE,
    ),
)
