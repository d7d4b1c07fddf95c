"""What metrics of object removal read: the verdict on each caption that an image without its object retrieves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainers.metrics.bitmasks import CORRECT


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The first K captions of Q queries.

    Attributes:
        verdicts: uint8 ``[Q, K]``, best ranked first; see :data:`trainers.metrics.bitmasks.CORRECT`.
        relevant: int64 ``[Q]``, correct captions in the whole gallery.
        removed, present: bool ``[Q]``, whether the query has a removed class, and one still in the image.
        strict_k: divide by k even where fewer captions are correct.
    """

    verdicts: np.ndarray
    relevant: np.ndarray
    removed: np.ndarray
    present: np.ndarray
    strict_k: bool

    @property
    def scored(self) -> np.ndarray:
        """Whether a query counts for ODmAP: bool ``[Q]``."""
        return self.removed & self.present & (self.relevant > 0)

    @cached_property
    def hits(self) -> np.ndarray:
        """Whether each caption is correct: bool ``[Q, K]``."""
        return self.verdicts == CORRECT


def average_precision(hits: np.ndarray, k: int, relevant: np.ndarray | None = None) -> np.ndarray:
    """AP@k of ranked lists: (1/k) sum over i <= k of P(i) rel(i).

    Args:
        hits: bool ``[Q, >= k]``, best first.
        k: cut-off.
        relevant: int ``[Q]``, relevant items in the gallery: divides by min(k, relevant) instead of k. Our reading
            for small galleries; the published values divide by k, which is the same on large ones.

    Returns:
        float64 ``[Q]``; NaN where ``relevant`` is 0.
    """
    rel = hits[:, :k].astype(np.float64)
    total = (rel.cumsum(1) / np.arange(1, rel.shape[1] + 1) * rel).sum(1)
    if relevant is None:
        return total / k
    return np.where(relevant > 0, total / relevant.clip(1, k), np.nan)
