"""How work that takes long tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

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
