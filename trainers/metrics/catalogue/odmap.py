"""ODmAP@k."""

from __future__ import annotations

import numpy as np

from trainers.metrics._symbols import INDICATOR
from trainers.metrics.judged import Judged
from trainers.metrics.measure import Measure, Source


def odmap(judged: Judged, k: int) -> np.ndarray:
    """Return AP@k of the correct captions: the sum over i <= k of P(i) rel(i), divided by min(k, correct captions).

    The paper divides by k, which is the same on large galleries; on small ones the smaller number is our reading.
    """
    hits = judged.hits[:, :k].astype(np.float64)
    total = (hits.cumsum(1) / np.arange(1, hits.shape[1] + 1) * hits).sum(1)
    return np.where(judged.scored, total / judged.relevant.clip(1, k), np.nan)


SOURCE: Source = {
    "paper": "Exposing and Mitigating Spurious Correlations for Cross-Modal Retrieval, Kim et al., CVPR workshops 2023",
    "url": "https://arxiv.org/abs/2304.03391",
}
DESCRIPTOR = Measure(
    name="ODmAP_at_k",
    title="ODmAP@k",
    sentence=(
        "AP@k of images without an object: a caption is correct if it names no removed class and at least one class "
        "still in the image."
    ),
    family="image_text",
    equation=r"ODmAP@k=\frac1{|Q|}\sum_{q\in Q}\frac1k\sum_{i=1}^{k}P_q(i)\,\mathrm{rel}_q(i),\quad "
    r"\mathrm{rel}=\mathbf 1[\forall c\in R:\ c\notin y]\;\mathbf 1[\exists c\in C\setminus R:\ c\in y]",
    symbols={
        "Q": "the queries q: images without an object",
        "k": "the cut-off",
        "P_q(i)": "share of the first i captions of q that are correct",
        r"\mathrm{rel}_q(i)": "1 if the caption at rank i of q is correct, else 0",
        "y": "a caption, as the classes that it names",
        "c": "a class",
        "R": "classes that were removed",
        "C": "classes in the original image",
    }
    | INDICATOR,
    order=110,
    judge=odmap,
    **SOURCE,
)
