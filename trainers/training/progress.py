"""One progress for several stages of work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from trainers.data.base import Progress


class Stages:
    """Tells stages one after the other as one progress, whose fraction never falls back.

    Args:
        tell: told of the whole.
        weights: how long each stage takes beside the others, positive.
    """

    def __init__(self, tell: Progress, weights: Sequence[float]) -> None:
        self._tell = tell
        self._shares = iter([weight / sum(weights) for weight in weights])
        self._begun = 0.0
        self._most = 0.0

    def next(self) -> Progress:
        """What the next stage tells, from 0 to 1; what it tells again from 0 does not show."""
        share, start = next(self._shares), self._begun
        self._begun += share
        return partial(self._told, start, share)

    def _told(self, start: float, share: float, text: str, fraction: float) -> None:
        self._most = max(self._most, min(1.0, start + share * fraction))
        self._tell(text, self._most)
