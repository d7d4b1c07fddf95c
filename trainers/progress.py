"""How work that takes long tells how far it is, and how often what waits for it looks.

The environment variable ``RANKSCOPE_LOOK_SECONDS`` bounds how long anything waits before it looks again, in this
process and in those that it starts: tests need not wait as long as people may.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial

Progress = Callable[[str, float], None]
"""Called with a sentence and the fraction done, 0 to 1. It may raise to stop the loading."""


def silent(_text: str, _fraction: float) -> None:
    """Tell nothing: the progress function of a caller that gave none."""


def worded(progress: Progress, before: str = "", after: str = "") -> Progress:
    """Make a progress function that puts words around another's text."""
    return lambda text, fraction: progress(f"{before}{text}{after}", fraction)


def part_of(progress: Progress, begin: float, end: float) -> Progress:
    """Make a progress function whose 0 to 1 is ``begin`` to ``end`` of another's."""
    return lambda text, fraction: progress(text, begin + (end - begin) * fraction)


_LONGEST = float(os.environ.get("RANKSCOPE_LOOK_SECONDS") or "inf")


def interval(seconds: float) -> float:
    """Return the seconds between two looks: as many as given, or fewer where the environment says so."""
    return min(seconds, _LONGEST)


_COUNT = re.compile(r"\d of \d")


class Stages:
    """Reports consecutive stages as one progress, whose fraction never decreases.

    Args:
        tell: called with the combined progress.
        weights: relative durations of the stages, positive.
    """

    def __init__(self, tell: Progress, weights: Sequence[float]) -> None:
        self._tell = tell
        self._shares = iter([weight / sum(weights) for weight in weights])
        self._begun = 0.0
        self._most = 0.0

    def next(self) -> Progress:
        """Return the progress callback of the next stage, 0 to 1; a fraction lower than an earlier one is not shown."""
        share, start = next(self._shares), self._begun
        self._begun += share
        return partial(self._report, start, share)

    def _report(self, start: float, share: float, text: str, fraction: float) -> None:
        self._most = max(self._most, min(1.0, start + share * fraction))
        self._tell(text, self._most)


def with_share(text: str, fraction: float) -> str:
    """Add the share that is done to what is being done, unless it is not known or ``text`` counts for itself."""
    return text if not 0 < fraction < 1 or _COUNT.search(text) else f"{text}, {fraction:.0%}"
