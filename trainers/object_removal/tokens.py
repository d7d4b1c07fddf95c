"""Captions as word tokens that know where they stand, and English plurals."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:['’](?!s\b)[^\W_]+)*")
_IRREGULAR = {
    "person": ("persons", "people"),
    "people": (),
    "man": ("men",),
    "woman": ("women",),
    "cowboy": ("cowboys", "cowgirl", "cowgirls"),
    "child": ("children",),
    "goose": ("geese",),
    "mouse": ("mice", "mouses"),
    "ox": ("oxen",),
    "calf": ("calves",),
    "knife": ("knives",),
    "foot": ("feet",),
    "tooth": ("teeth",),
    "leaf": ("leaves",),
    "sheep": (),
    "police": (),
    "cattle": (),
    "aircraft": (),
    "luggage": (),
    "silverware": (),
    "traffic": (),
    "anyone": (),
    "someone": (),
    "somebody": (),
    "anybody": (),
    "everyone": (),
}


@dataclass(frozen=True, kw_only=True)
class Token:
    """One word: its lower-case form and its place ``text[start:end]``; ``gap`` is what stands before it."""

    word: str
    start: int
    end: int
    gap: str


def tokenise(text: str) -> tuple[Token, ...]:
    """Split a text into words; hyphens and punctuation separate, *'s* is left out, ``don't`` is one word."""
    tokens, last = [], 0
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        gap = text[last : match.start()]
        if not (word == "s" and gap in ("'", "’")):
            tokens.append(Token(word=word, start=match.start(), end=match.end(), gap=gap))
        last = match.end()
    return tuple(tokens)


def inflections(word: str) -> tuple[str, ...]:
    """Return a word and its plurals, the regular one built by rule: ``puppy`` gives ``puppy``, ``puppies``.

    Only the last word of several is inflected. A word that looks plural already gets no further form.
    """
    head, _, last = word.rpartition(" ")
    head = f"{head} " if head else ""
    for stem, plurals in _IRREGULAR.items():  # compounds too: fireman, salesperson keep their own entries out
        if last == stem:
            return (word, *(head + plural for plural in plurals))
    if last.endswith("s") and not last.endswith(("ss", "us")):
        return (word,)
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        return (word, f"{head}{last[:-1]}ies")
    if last.endswith(("s", "x", "z", "ch", "sh")):
        return (word, f"{head}{last}es")
    return (word, f"{head}{last}s")
