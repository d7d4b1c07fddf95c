"""The verdict on each caption that an image without its object retrieves, which metrics of object removal read."""

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
    """

    verdicts: np.ndarray
    relevant: np.ndarray
    removed: np.ndarray
    present: np.ndarray

    @property
    def scored(self) -> np.ndarray:
        """Whether a query counts for ODmAP: bool ``[Q]``."""
        scored: np.ndarray = self.removed & self.present & (self.relevant > 0)
        return scored

    @cached_property
    def hits(self) -> np.ndarray:
        """Whether each caption is correct: bool ``[Q, K]``."""
        hits: np.ndarray = self.verdicts == CORRECT
        return hits
