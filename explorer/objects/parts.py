"""A sentence in parts, so that the page can colour the words that name objects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from trainers.metrics.bitmasks import CORRECT
from trainers.removal.chunker import noun_phrases
from trainers.removal.words import WordTable

VERDICTS = ("names removed", "names removed", "names nothing present", "correct")
"""Words for the codes of :mod:`trainers.metrics.bitmasks`, 0 to 3."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """``text`` names ``classes``; ``kind`` is ``removed`` if one of them was taken out, ``present`` if one is there."""

    text: str
    kind: str | None = None
    classes: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {"text": self.text, "kind": self.kind, "classes": list(self.classes)}


def parts(text: str, words: WordTable, present: Collection[str], removed: Collection[str]) -> list[Part]:
    """The sentence cut around every mention inside its noun phrases; together the parts are the sentence."""
    found, last = [], 0
    for phrase in noun_phrases(text):
        for mention in words.mentions(phrase.tokens):
            start, end = phrase.tokens[mention.first].start, phrase.tokens[mention.last - 1].end
            kind = _kind(mention.classes, present, removed)
            if kind is None:
                continue
            if start > last:
                found.append(Part(text=text[last:start]))
            found.append(Part(text=text[start:end], kind=kind, classes=tuple(sorted(mention.classes))))
            last = end
    if last < len(text) or not found:
        found.append(Part(text=text[last:]))
    return found


def verdict(code: int, original: bool = False) -> str:
    """The verdict in words; on a photo with nothing removed a sentence fits or names nothing present."""
    if original:
        return "fits" if code == CORRECT else "names nothing present"
    return VERDICTS[code]


def _kind(classes: Collection[str], present: Collection[str], removed: Collection[str]) -> str | None:
    if any(name in removed for name in classes):
        return "removed"
    return "present" if any(name in present for name in classes) else None
