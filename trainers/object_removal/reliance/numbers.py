"""The numbers of every form of the queries, and the differences between forms that a control belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.metrics.measure import Measure
from trainers.metrics.names import Described, describe
from trainers.object_removal.reliance.forms import (
    AWAY,
    HOME,
    MOVED,
    NEW,
    PLACEBO,
    RELIT,
    SILHOUETTE,
    TIED,
    TITLES,
    WHOLE,
    WITHOUT,
)
from trainers.object_removal.reliance.scores import METRICS, NEAREST

STAYS, MISSED = "stays", "missed"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A form less another one, query by query: what the second lacks beyond what its control lacks.

    Attributes:
        first, second: forms.
        title: what the difference is.
    """

    first: str
    second: str
    title: str


CONTRASTS = {
    f"{contrast.first} - {contrast.second}": contrast
    for contrast in (
        Contrast(first=PLACEBO, second=WITHOUT, title="lost with the object, beyond the placebo"),
        Contrast(first=SILHOUETTE, second=WITHOUT, title="found by the outline alone"),
        Contrast(first=RELIT, second=MOVED, title="lost with the background, beyond other light"),
        Contrast(first=HOME, second=AWAY, title="gained by the tied background, training classes"),
    )
}
"""Every difference that is judged, by name."""
LOST_FROM_WHOLE = tuple(form for form in TITLES if form not in (WHOLE, *TIED))
_UNMOVED = (WHOLE, NEW)  # all of their neighbours stay, as they are the ones that may stay
_OWN = {
    STAYS: Measure(
        name=STAYS,
        title=f"neighbours that stay, of {NEAREST}",
        sentence=f"Share of the {NEAREST} nearest images of the untouched image that are still among them. It follows "
        "how well an embedding is ordered, so it compares forms under one loss, and not losses.",
        family="ranking",
        better="",
    ),
    MISSED: Measure(
        name=MISSED,
        title="levels missed by a wrong first result",
        sentence="Given a first result of another class: on how many levels of the label tree it disagrees with its "
        "query.",
        family="ranking",
        unit="number",
        better="down",
    ),
}


def measures_of(name: str, depth: int) -> tuple[str, ...]:
    """Return the measures of a form or a contrast for labels of ``depth`` levels."""
    if name in CONTRASTS:
        return (*METRICS, STAYS)
    return (*METRICS, *(() if name in _UNMOVED else (STAYS,)), *((MISSED,) if depth > 1 else ()))


def described(measure: str) -> Described:
    """Describe a metric, :data:`STAYS` or :data:`MISSED` in words."""
    if measure not in _OWN:
        return describe(measure)
    measured = _OWN[measure]
    return Described(
        key=measure, measure=measured, title=measured.title, short=measured.title, sentence=measured.sentence
    )


def title_of(name: str) -> str:
    """Name a form or a contrast in words."""
    return CONTRASTS[name].title if name in CONTRASTS else TITLES[name]
