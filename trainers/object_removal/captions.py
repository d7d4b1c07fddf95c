"""Captions for object-removed images: what a caption names, deleting noun phrases, prompts (Kim et al. 2023, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from trainers.errors import UserError
from trainers.object_removal.vocabulary import Matcher
from trainers.registry import importing

_DANGLING = ("of", "with", "and")
_FOREIGN = 0.3  # share of letters outside ASCII from which a text is not taken for English


@dataclass(frozen=True, kw_only=True)
class Edited:
    """A caption after deletion.

    Attributes:
        text: what is left; may be empty or ungrammatical.
        deleted: the phrases taken out, in order.
        kept: classes that the phrases left over name.
    """

    text: str
    deleted: tuple[str, ...]
    kept: frozenset[str]


def classes_of(caption: str, words: Matcher) -> frozenset[str]:
    """Return classes that a caption's noun phrases name: match(c, n) of the paper for any phrase n."""
    return frozenset(name for phrase in words.phrases(caption) for name in phrase.classes)


def mention_table(captions: Iterable[str], words: Matcher) -> np.ndarray:
    """Return which classes every caption names: bool ``[G, C]``, columns in the order of ``words.classes``.

    Equal captions are read once.
    """
    column_of = {name: column for column, name in enumerate(words.classes)}
    rows: list[int] = []
    seen: dict[str, int] = {}
    distinct: list[list[int]] = []
    for caption in captions:
        row = seen.setdefault(caption, len(seen))
        if row == len(distinct):
            distinct.append([column_of[name] for name in classes_of(caption, words)])
        rows.append(row)
    table = np.zeros((len(distinct), len(column_of)), dtype=bool)
    for row, columns in enumerate(distinct):
        table[row, columns] = True
    return table[np.asarray(rows, dtype=np.int64)]


def remove_phrases(caption: str, removed: Iterable[str], words: Matcher) -> Edited:
    """Delete every noun phrase that names a removed class. Plain deletion, as published: nothing is repaired.

    Kim et al. 2023, 3.3, print the classes that stay in the condition for the phrases to delete; their example deletes
    those of the removed class, which must be meant.

    Annotated phrases go to the letter. Where phrases were found by rule a leading *of*, *with* or *and* and leading
    punctuation go as well (our reading). Blanks are squeezed in both cases.
    """
    gone, last = frozenset(removed), 0
    kept: frozenset[str] = frozenset()
    parts, deleted, exact = [], [], True
    for phrase in sorted(words.phrases(caption), key=lambda phrase: phrase.start):
        if gone.isdisjoint(phrase.classes):
            kept |= frozenset(phrase.classes)
            continue
        parts.append(caption[last : max(last, phrase.start)])
        deleted.append(caption[phrase.start : phrase.end])
        last = max(last, phrase.end)
        exact &= phrase.annotated
    if not deleted:
        return Edited(text=caption, deleted=(), kept=kept)
    left = " ".join("".join([*parts, caption[last:]]).split())
    if not exact:
        left = _trimmed(left)
    return Edited(text=left if any(letter.isalnum() for letter in left) else "", deleted=tuple(deleted), kept=kept)


def _trimmed(left: str) -> str:
    """Trim what is left after a phrase whose edges were found by rule."""
    for mark in (".", ",", ";"):
        left = left.replace(f" {mark}", mark)
    left = left.lstrip(",;. ")
    while left.split(" ")[0].lower() in _DANGLING:
        left = left.partition(" ")[2]
    return left


@cache
def prompt_templates() -> tuple[str, ...]:
    """Return the 80 templates that CLIP was published with, each with one ``{}``.

    The paper fills one of 80 templates without listing them; these are taken to be the ones (our reading).
    """
    with importing():
        from open_clip import OPENAI_IMAGENET_TEMPLATES

    return tuple(template("{}") for template in OPENAI_IMAGENET_TEMPLATES)


def prompt(classes: Sequence[str], template: str) -> str:
    """Fill a template with class names joined by *and*.

    Raises:
        UserError: there is no class, or the template has no ``{}``.
    """
    if not classes or template.count("{}") != 1:
        raise UserError(
            f"A prompt needs at least one remaining class and a template with one {{}}; got {list(classes)} "
            f"and {template!r}."
        )
    return template.replace("{}", " and ".join(classes))


def language_note(captions: Sequence[str], words: Matcher) -> str | None:
    """Return a warning when the captions do not look English, else None.

    Either many letters lie outside ASCII, or not one of at least 20 captions names a class of the table. Nothing fails
    then, but the scores mean nothing unless a word table for that language is loaded.
    """
    letters = [letter for caption in captions[:1000] for letter in caption if letter.isalpha()]
    foreign = sum(not letter.isascii() for letter in letters)
    known = any(words.phrases(caption) for caption in captions[:1000])
    if (letters and foreign > _FOREIGN * len(letters)) or (len(captions) >= 20 and letters and not known):
        return (
            "These captions do not look English. The word table, the noun phrases and CLIP are English: load a word "
            "table for this language before reading anything into the scores."
        )
    return None
