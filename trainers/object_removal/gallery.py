"""The gallery: the distinct captions of a dataset that an image may retrieve, and the classes each of them names."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trainers.data.captioned_images import CaptionedDataset
from trainers.errors import DataError
from trainers.object_removal.captions import language_note, mention_table
from trainers.object_removal.chunker import inflections, tokenise
from trainers.object_removal.vocabulary import Matcher


@dataclass(frozen=True, kw_only=True)
class CaptionGallery:
    """Captions and the matcher that says what they name. Equal captions of several images are one (our reading).

    Attributes:
        texts: G distinct captions.
        matcher: says which classes a caption names, by a word table or by its annotation.
        notes: for the user, in plain words.
        mentioned: computes ``mentions`` as far as they are needed.
        total: distinct captions of the dataset; more than G where a cap left some out.
    """

    texts: tuple[str, ...]
    matcher: Matcher
    notes: tuple[str, ...]
    mentioned: Mentions
    total: int

    @classmethod
    def of(
        cls, texts: Sequence[str], matcher: Matcher, notes: Sequence[str] = (), total: int | None = None
    ) -> CaptionGallery:
        """Make a gallery of captions, out of ``total`` (None: of all); the classes they name are computed later."""
        texts = tuple(texts)
        return cls(
            texts=texts,
            matcher=matcher,
            notes=tuple(notes),
            mentioned=Mentions(texts, matcher),
            total=len(texts) if total is None else total,
        )

    @property
    def mentions(self) -> np.ndarray:
        """Bool ``[G, C]``, columns in the order of ``matcher.classes``; computed on first use."""
        return self.mentioned.first(len(self.texts))

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Row of each caption."""
        return {text: row for row, text in enumerate(self.texts)}

    @cached_property
    def digest(self) -> str:
        """Hexadecimal; equal for equal captions in equal order."""
        mark = hashlib.blake2b(digest_size=16)
        for text in self.texts:
            mark.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return mark.hexdigest()

    def first(self, count: int) -> CaptionGallery:
        """Return the first ``count`` captions."""
        return self if count >= len(self.texts) else replace(self, texts=self.texts[:count])

    def naming(self, name: str, further: Sequence[str] = ()) -> CaptionGallery:
        """Match the same captions with one more class, or with other words for a class.

        Only captions that named the class or contain a word of it, old or new, are matched again.

        Args:
            name: the class.
            further: words that stand for it beside its name; none: as the matcher has it.

        Raises:
            DataError: the name has no letters.
        """
        if name in self.matcher.classes and not further:
            return self
        if not tokenise(name):
            raise DataError(f"An object needs a name in letters; got {name[:40]!r}.")
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
    """The classes that each caption names, computed on demand; safe between threads."""

    def __init__(self, texts: Sequence[str], matcher: Matcher, table: np.ndarray | None = None) -> None:
        self._texts = texts
        self._matcher = matcher
        self._table = np.zeros((0, len(matcher.classes)), dtype=bool) if table is None else table
        self._lock = threading.Lock()

    def first(self, count: int) -> np.ndarray:
        """Return the classes that the first captions name, bool ``[count, C]``."""
        with self._lock:
            known = len(self._table)
            if known < count:
                more = mention_table(self._texts[known:count], self._matcher)
                self._table = np.concatenate([self._table, more])
            return self._table[:count]


def gather(
    dataset: CaptionedDataset, matcher: Matcher, *, first: str | None = None, most: int | None = None
) -> CaptionGallery:
    """Gather the gallery of a dataset: the captions of all its splits (Kim et al. 2023, 3.2).

    Args:
        dataset: where the captions come from.
        matcher: says which classes they name.
        first: the split whose captions come first; None: splits in their own order.
        most: captions that are used; None: all of them.

    Raises:
        DataError: the dataset has no captions.
    """
    splits = sorted(dataset.splits, key=lambda name: name != first)
    texts = list(dict.fromkeys(text for name in splits for scene in dataset.splits[name] for text in scene.captions))
    if not texts:
        raise DataError(f"{dataset.title} has no captions, so nothing can be retrieved for its images.")
    notes, total = [], len(texts)
    if most is not None and total > most:
        notes.append(f"{most:,} of its {total:,} captions are used, those of the {first} split first.")
        texts = texts[:most]
    said = language_note(texts, matcher)
    if said is not None:
        notes.append(said)
    return CaptionGallery.of(texts, matcher, notes, total)


def against(queries: int, captions: int, total: int) -> str:
    """Say what a figure is about, with the cap on captions: ``1,000 queries against 20,000 of 30,983 captions``."""
    which = f"all {total:,}" if captions == total else f"{captions:,} of {total:,}"
    return f"{queries:,} queries against {which} captions"


def _holds(text: str, words: Iterable[str]) -> bool:
    text = text.lower()
    return any(word in text for word in words)


def _first_words(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the first word of each entry, in all its forms: a caption without any of them names no such class."""
    words: dict[str, None] = {}
    for entry in entries:
        whole = " ".join(token.word for token in tokenise(entry))
        for inflection in inflections(whole) if whole else ():
            words[inflection.split(" ")[0]] = None
    return tuple(words)
