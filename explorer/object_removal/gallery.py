"""The sentences that photos are answered with: the distinct captions of a set, and the classes each of them names."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from explorer.object_removal.datasets import PhotoSet, Sets
from explorer.server.cache import Cache
from trainers.errors import DataError
from trainers.object_removal.captions import language_note, mention_table
from trainers.object_removal.matching import Matcher
from trainers.object_removal.tokens import forms, tokenise

MOST = 20_000
"""Sentences of one gallery: every model has to read all of them."""
KEPT = 4
Progress = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Sentences of one set, read by one matcher. Equal sentences of several photos are one (our reading).

    Attributes:
        name: of the set.
        texts: distinct captions, those of the shown split first.
        matcher: says which classes a sentence names, by a word table or by its annotation.
        notes: plain sentences.
        mentioned: says which classes each sentence names, piece by piece.
    """

    name: str
    texts: tuple[str, ...]
    matcher: Matcher
    notes: tuple[str, ...]
    mentioned: Mentions

    @classmethod
    def of(cls, name: str, texts: Sequence[str], matcher: Matcher, notes: Sequence[str] = ()) -> Gallery:
        """Nothing is read yet."""
        texts = tuple(texts)
        mentioned = Mentions(texts, matcher)
        return cls(name=name, texts=texts, matcher=matcher, notes=tuple(notes), mentioned=mentioned)

    @property
    def mentions(self) -> np.ndarray:
        """Bool ``[G, C]``, columns in the order of ``matcher.classes``; read now where that was not done before."""
        return self.mentioned.first(len(self.texts))

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Row of each sentence."""
        return {text: row for row, text in enumerate(self.texts)}

    @cached_property
    def digest(self) -> str:
        """Hexadecimal; equal for equal sentences in equal order."""
        mark = hashlib.blake2b(digest_size=16)
        for text in self.texts:
            mark.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return mark.hexdigest()

    def first(self, count: int) -> Gallery:
        """The first ``count`` sentences."""
        return self if count >= len(self.texts) else replace(self, texts=self.texts[:count])

    def naming(self, name: str, further: Sequence[str] = ()) -> Gallery:
        """The same sentences read with one more class, or with other words for a class.

        Only sentences that named the class or hold a word of it, old or new, are read again.

        Args:
            name: the class.
            further: words that stand for it beside its name; none: as the matcher has it.

        Raises:
            DataError: the name has no letters.
        """
        if name in self.matcher.classes and not further:
            return self
        if not tokenise(name):
            raise DataError(f"An object needs a name in letters; {name[:40]!r} came.")
        before, matcher = self.mentions, self.matcher.with_words({name: tuple(further)})
        words = (name, *self.matcher.words.get(name, ()), *matcher.words.get(name, ()))
        touched = _first_words(words)
        rows = np.array([_holds(text, touched) for text in self.texts], dtype=bool)
        if name in self.matcher.classes:
            rows |= before[:, self.matcher.classes.index(name)]
        table = np.zeros((len(self.texts), len(matcher.classes)), dtype=bool)
        table[:, : before.shape[1]] = before
        if rows.any():
            table[rows] = mention_table([self.texts[row] for row in np.flatnonzero(rows)], matcher)
        return replace(self, matcher=matcher, mentioned=Mentions(self.texts, matcher, table))


class Mentions:
    """Which classes each of the sentences names, read as far as somebody wants to know; safe between threads."""

    def __init__(self, texts: Sequence[str], matcher: Matcher, table: np.ndarray | None = None) -> None:
        self._texts = texts
        self._matcher = matcher
        self._table = np.zeros((0, len(matcher.classes)), dtype=bool) if table is None else table
        self._lock = threading.Lock()

    def first(self, count: int) -> np.ndarray:
        """Bool ``[count, C]``."""
        with self._lock:
            known = len(self._table)
            if known < count:
                more = mention_table(self._texts[known:count], self._matcher)
                self._table = np.concatenate([self._table, more])
            return self._table[:count]


class Galleries:
    """Makes each set's gallery once and keeps the last few."""

    def __init__(self, sets: Sets, most: int = MOST) -> None:
        self._sets = sets
        self._most = most
        self._kept: Cache[Gallery] = Cache(limit=KEPT)
        self._making = threading.Lock()

    def get(self, name: str) -> Gallery:
        """The gallery of an open set.

        Raises:
            GoneError: the set is not open.
            DataError: it has no sentences.
        """
        group = self._sets.get(name)
        key = (group.name, id(group))
        with self._making:  # two visitors want the same one as a rule
            return self._kept.get(key, lambda: gather(group, self._most))


def gather(group: PhotoSet, most: int = MOST) -> Gallery:
    """The gallery of a set.

    Raises:
        DataError: the set has no sentences.
    """
    texts = list(dict.fromkeys(_captions(group)))
    if not texts:
        raise DataError(f"{group.data.title} has no sentences, so nothing can be found for its photos.")
    notes = []
    if len(texts) > most:
        notes.append(f"{most:,} of its {len(texts):,} sentences are used, those of the {group.split} split first.")
        texts = texts[:most]
    said = language_note(texts, group.matcher)
    if said is not None:
        notes.append(said)
    return Gallery.of(group.name, texts, group.matcher, notes)


def _captions(group: PhotoSet) -> Iterable[str]:
    splits = group.data.splits
    for name in (group.split, *(other for other in splits if other != group.split)):
        for scene in splits.get(name, ()):
            yield from scene.captions


def _holds(text: str, words: Iterable[str]) -> bool:
    text = text.lower()
    return any(word in text for word in words)


def _first_words(entries: Iterable[str]) -> tuple[str, ...]:
    """The word that each entry begins with, in all its forms: a sentence without any of them names no such class."""
    found: dict[str, None] = {}
    for entry in entries:
        whole = " ".join(token.word for token in tokenise(entry))
        for form in forms(whole) if whole else ():
            found[form.split(" ")[0]] = None
    return tuple(found)
