"""Noun phrases of a caption by rule: no model, no download.

A caption is read from left to right. Prepositions, conjunctions, verbs, pronouns, commas and the start of the next
determiner end a phrase; a run without a noun is dropped. Captions describe, in short and regular English; finite
verbs that are in no list and adjectives after their noun are its weak spots. Its word tokens know where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainers.object_removal import _lexicon as lexicon

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


_STOPS = ',.;:!?()"'


@dataclass(frozen=True, kw_only=True)
class Phrase:
    """A noun phrase: tokens ``first`` to ``last`` (exclusive), ``text[start:end]`` in characters."""

    text: str
    tokens: tuple[Token, ...]
    first: int
    last: int

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end


def noun_phrases(text: str) -> tuple[Phrase, ...]:
    """Find the noun phrases of a caption in order, without overlap; none in an empty text or one without nouns."""
    tokens = tokenise(text)
    runs, begin = [], None
    for position, token in enumerate(tokens):
        run = tokens[begin:position] if begin is not None else ()
        before = tokens[position - 1].word if position else ""
        verdict = _read(run, before, token, tokens[position + 1].word if position + 1 < len(tokens) else "")
        if verdict != "inside" and begin is not None:
            runs.append((begin, position))
            begin = None
        if verdict == "starts" or (verdict == "inside" and begin is None):
            begin = position
    if begin is not None:
        runs.append((begin, len(tokens)))
    trimmed = [_trim(tokens, first, last) for first, last in runs]
    return tuple(
        Phrase(text=text[tokens[first].start : tokens[last - 1].end], tokens=tokens[first:last], first=first, last=last)
        for first, last in trimmed
        if any(map(_is_noun, tokens[first:last]))
    )


def _read(run: Sequence[Token], before: str, token: Token, follows: str) -> str:
    """Return whether a token goes on with the run (``inside``), ``starts`` another or is in no phrase (``outside``)."""
    word = token.word
    if run and any(mark in token.gap for mark in _STOPS):
        return "outside" if _ends(word, (), "", follows) else "starts"
    noun = any(map(_is_noun, run))
    if word == "of" and run and run[-1].word in lexicon.MEASURES:
        return "inside"
    if word == "and" and run and not noun and run[-1].word in lexicon.COLOURS and follows in lexicon.COLOURS:
        return "inside"
    if (word == "close" and follows == "up") or (word == "up" and run and run[-1].word == "close"):
        return "inside"
    if _ends(word, run, before, follows):
        return "outside"
    opens = word in lexicon.DETERMINERS or word in lexicon.NUMBERS
    return "starts" if opens and noun and run[-1].word != "of" else "inside"


def _ends(word: str, run: Sequence[Token], before: str, follows: str) -> bool:
    """Return whether a word is in no noun phrase here."""
    after_of = max((position + 1 for position, token in enumerate(run) if token.word == "of"), default=0)
    noun = any(map(_is_noun, run[after_of:]))
    closed = not follows or follows in lexicon.DETERMINERS or follows in lexicon.BREAKS
    if noun and closed and word in lexicon.ENDS_OPEN:
        return True
    if word in lexicon.PARTICLES:
        return not run or (noun and follows in ("of", "to"))
    if word in lexicon.BREAKS:
        return True
    if before in lexicon.AFTER_TO and not run and word not in lexicon.DETERMINERS:
        return word in lexicon.PLAIN or follows in lexicon.DETERMINERS
    if word in lexicon.ING_NOUNS or (word in lexicon.ING_BEFORE_NOUN and follows in lexicon.OPENED_BY_ING):
        return False
    if noun and word in lexicon.COMPOUND and not closed:
        return False
    if word.endswith("ing") and len(word) > 4:
        return noun or not run or closed
    past = word in lexicon.PAST or (word.endswith("ed") and word not in lexicon.NOT_PAST)
    if not noun:
        return not run and ((past and closed) or word in lexicon.PAST or word in lexicon.FINITE)
    return past or word in lexicon.FINITE or _is_verb(word, run, closed)


def _is_verb(word: str, run: Sequence[Token], closed: bool) -> bool:
    """Tell a verb by its number: a base form after a plural (``men stand``), *-s* after a singular (``he paints``)."""
    if _plural(run[-1].word):
        return word in lexicon.PLAIN
    single = run[0].word in ("a", "an") and run[-1].word != "couple" and all(token.word != "of" for token in run)
    return single and closed and word not in lexicon.PAIRS and _plural(word)


def _trim(tokens: Sequence[Token], first: int, last: int) -> tuple[int, int]:
    """Leave out a trailing *of*, *and* or adjective-like filler that the run ended on."""
    while last > first and tokens[last - 1].word in ("of", "and"):
        last -= 1
    return first, last


def _is_noun(token: Token) -> bool:
    word = token.word
    return word in lexicon.PARTICLES or not (
        word in lexicon.DETERMINERS
        or word in lexicon.NUMBERS
        or word in lexicon.ADJECTIVES
        or word in lexicon.NO_NOUN
        or word in ("of", "and")
        or word.isdigit()
        or (word.endswith("ed") and word not in lexicon.NOT_PAST)
        or (word.endswith("ing") and word not in lexicon.ING_NOUNS)
        or (word.endswith("ly") and word not in ("family", "fly", "belly", "jelly"))
    )


def _plural(word: str) -> bool:
    return word in lexicon.IRREGULAR_PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is")))
