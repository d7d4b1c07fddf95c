"""A caption in parts, so that the page can colour the words that name objects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from trainers.metrics.bitmasks import CORRECT
from trainers.object_removal.matching import Matcher

VERDICTS = ("names removed", "names removed", "names nothing present", "correct")
"""Words for the codes of :mod:`trainers.metrics.bitmasks`, 0 to 3."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """``text`` names ``classes``; ``kind`` is ``removed`` if one of them was removed, ``present`` if one is there."""

    text: str
    kind: str | None = None
    classes: tuple[str, ...] = ()


def parts(text: str, matcher: Matcher, present: Collection[str], removed: Collection[str]) -> list[Part]:
    """The caption cut around everything that names a class; together the parts are the caption.

    Where two overlap, what names a removed class is shown.
    """
    marks = [(_kind(phrase.classes, present, removed), phrase) for phrase in matcher.shown(text)]
    taken: list[Part] = []
    places: list[tuple[int, int]] = []
    for kind, phrase in sorted(marks, key=lambda mark: (mark[0] != "removed", mark[1].start)):
        if kind is not None and all(phrase.end <= start or end <= phrase.start for start, end in places):
            places.append((phrase.start, phrase.end))
            taken.append(Part(text=text[phrase.start : phrase.end], kind=kind, classes=tuple(sorted(phrase.classes))))
    found, last = [], 0
    for (start, end), part in sorted(zip(places, taken, strict=True), key=lambda mark: mark[0]):
        if start > last:
            found.append(Part(text=text[last:start]))
        found.append(part)
        last = end
    if last < len(text) or not found:
        found.append(Part(text=text[last:]))
    return found


def verdict(code: int, original: bool = False) -> str:
    """The verdict in words; on an image with nothing removed a caption fits or names nothing present."""
    if original:
        return "fits" if code == CORRECT else "names nothing present"
    return VERDICTS[code]


def _kind(classes: Collection[str], present: Collection[str], removed: Collection[str]) -> str | None:
    if any(name in removed for name in classes):
        return "removed"
    return "present" if any(name in present for name in classes) else None
