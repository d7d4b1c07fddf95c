"""A caption in parts: those that name objects that are there or removed, and the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from trainers.data.captioned_images import NamedPhrase
from trainers.metrics.bitmasks import CORRECT
from trainers.object_removal.vocabulary import Matcher

VERDICTS = ("names removed", "names removed", "names nothing present", "correct")
"""Words for the codes of :mod:`trainers.metrics.bitmasks`, 0 to 3."""


def parts(text: str, matcher: Matcher, present: Collection[str], removed: Collection[str]) -> list[dict[str, Any]]:
    """Cut a caption around everything that names a class; together the texts of the parts are the caption.

    ``kind`` is ``removed`` if one of a part's ``classes`` was removed, ``present`` if one is there, else None. Where
    two overlap, what names a removed class is shown.
    """
    marks = [(_kind(phrase.classes, present, removed), phrase) for phrase in matcher.shown(text)]
    taken: list[tuple[str, NamedPhrase]] = []
    for kind, phrase in sorted(marks, key=lambda mark: (mark[0] != "removed", mark[1].start)):
        if kind is not None and all(phrase.end <= other.start or other.end <= phrase.start for _, other in taken):
            taken.append((kind, phrase))
    pieces, last = [], 0
    for kind, phrase in sorted(taken, key=lambda mark: mark[1].start):
        pieces.append(_part(text[last : phrase.start]))
        pieces.append(_part(text[phrase.start : phrase.end], kind, sorted(phrase.classes)))
        last = phrase.end
    pieces.append(_part(text[last:]))
    return [part for part in pieces if part["text"]] or [_part("")]


def _part(text: str, kind: str | None = None, classes: Sequence[str] = ()) -> dict[str, Any]:
    return {"text": text, "kind": kind, "classes": list(classes)}


def verdict(code: int, original: bool = False) -> str:
    """Put a verdict in words; on an image with nothing removed a caption fits or names nothing present."""
    if original:
        return "fits" if code == CORRECT else "names nothing present"
    return VERDICTS[code]


def _kind(classes: Collection[str], present: Collection[str], removed: Collection[str]) -> str | None:
    if any(name in removed for name in classes):
        return "removed"
    return "present" if any(name in present for name in classes) else None
