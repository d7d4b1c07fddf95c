"""match(c, n) of Kim et al. 2023: which classes the noun phrases of a caption name.

Where people annotated the phrases, as in Flickr30k Entities, the annotation says it; else a word table does, as for
COCO, compared by whole tokens, longest entry first. Both answer the same questions, so that whoever asks need not know
which of them it is: ``matcher_of(scene_set, load_words())``.

The table is Kim et al. 2023, table 4 (``assets/vocabularies/coco_words.json``). These are our readings: a listed word
counts as a whole token and in its plural; the longest entry wins, so that ``hot dog`` names no dog; and the words of
``coco_words_added.json`` beside it. The table is silent about those who ride or stand on something (``cyclist``,
``skier``): they name a person, as its ``biker``, ``rider`` and ``surfer`` do and as ``equestrian`` does in the paper's
section 3.2, and not what they ride.

Known crudeness, kept because the published table has it: ``board`` stands for three classes, ``glass`` and ``bag`` for
two, ``sign`` for any sign, ``orange`` also for the colour, ``trunk`` for a car.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from trainers.data.captioned_images import CaptionedDataset, CaptionedImage, NamedPhrase
from trainers.errors import DataError
from trainers.object_removal.chunker import Token, inflections, noun_phrases, tokenise


class Matcher(Protocol):
    """Says what captions name; :class:`trainers.object_removal.vocabulary.WordTable` and :class:`Annotated` are
    such."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that are looked for."""

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        """Further words that stand for each class beside its name; none where an annotation decides."""

    def phrases(self, caption: str) -> tuple[NamedPhrase, ...]:
        """Return the noun phrases that name a class: what is deleted when the class is removed."""

    def shown(self, caption: str) -> tuple[NamedPhrase, ...]:
        """Return the part of each phrase that shows which class it names: a word of the table, or the phrase itself."""

    def with_words(self, words: Mapping[str, Sequence[str]]) -> Matcher:
        """Add classes, each named by its own name and by the words given for it.

        A class that is there already stays as it is if no words are given for it.
        """


class Annotated:
    """Captions with annotated phrases.

    Args:
        known: caption to the phrases that are annotated in it.
        classes: the classes that annotations speak of.
        others: reads captions that are not among them, and finds the classes of ``by_words`` in all.
        by_words: further classes, which annotations do not know.
    """

    def __init__(
        self,
        known: Mapping[str, Sequence[NamedPhrase]],
        classes: Sequence[str],
        others: Matcher,
        by_words: frozenset[str] = frozenset(),
    ) -> None:
        self.classes = tuple(classes)
        self._known = known
        self._others = others
        self._by_words = by_words

    @property
    def words(self) -> Mapping[str, tuple[str, ...]]:
        return {name: self._others.words.get(name, ()) if name in self._by_words else () for name in self.classes}

    def phrases(self, caption: str) -> tuple[NamedPhrase, ...]:
        return self._read(caption, self._others.phrases)

    def shown(self, caption: str) -> tuple[NamedPhrase, ...]:
        return self._read(caption, self._others.shown)

    def with_words(self, words: Mapping[str, Sequence[str]]) -> Annotated:
        changed = {name: further for name, further in words.items() if further or name not in self.classes}
        if not changed:
            return self
        classes = tuple(dict.fromkeys((*self.classes, *changed)))
        return Annotated(self._known, classes, self._others.with_words(changed), self._by_words | frozenset(changed))

    def _read(self, caption: str, by_words: Callable[[str], tuple[NamedPhrase, ...]]) -> tuple[NamedPhrase, ...]:
        marked = self._known.get(caption)
        if marked is None:
            return _about(self.classes, by_words(caption))
        unchanged = _about(frozenset(self.classes) - self._by_words, marked)
        return unchanged + _about(self._by_words, by_words(caption)) if self._by_words else unchanged


def _about(classes: Collection[str], phrases: Iterable[NamedPhrase]) -> tuple[NamedPhrase, ...]:
    """Select the phrases that name some of the classes, with these alone."""
    named = ((phrase, tuple(name for name in phrase.classes if name in classes)) for phrase in phrases)
    return tuple(replace(phrase, classes=left) for phrase, left in named if left)


def annotated(scenes: Iterable[CaptionedImage], words: Matcher, classes: Sequence[str] = ()) -> Matcher:
    """Return a matcher of the captions of images: by their annotation where they have one, else ``words``.

    A caption that stands at several images is read as it is annotated at the first of them (our reading).

    Args:
        scenes: the images.
        words: reads what is not annotated.
        classes: those that the annotation knows, whether or not it marks one of them; none: those of the images.
    """
    known: dict[str, tuple[NamedPhrase, ...]] = {}
    seen = dict.fromkeys(classes)
    for scene in scenes:
        for caption, phrases in zip(scene.captions, scene.phrases, strict=bool(scene.phrases)):
            known.setdefault(caption, phrases)
            seen.update(dict.fromkeys(name for phrase in phrases for name in phrase.classes))
        seen.update(dict.fromkeys(scene.classes))
    return Annotated(known, tuple(seen), words) if known else words


def matcher_of(dataset: CaptionedDataset, words: Matcher) -> Matcher:
    """Return a matcher of the captions of a dataset.

    Args:
        dataset: with captions.
        words: a word table; classes that it lacks stand for their own name and its plural, and for the dataset's words.
    """
    further = {name: tuple(_spelt(dataset.words.get(name, ()), words)) for name in dataset.classes}
    scenes = (scene for part in dataset.splits.values() for scene in part)
    return annotated(scenes, words.with_words(further), dataset.classes)


def _spelt(names: Iterable[str], words: Matcher) -> Iterator[str]:
    """Yield the words as they are, and those of the classes among them."""
    for name in names:
        yield from (name, *words.words.get(name, ()))


_ASSETS = Path(__file__).resolve().parents[2] / "assets" / "vocabularies"
TABLE = _ASSETS / "coco_words.json"
"""Table 4 of the paper: COCO's 80 classes in COCO's order."""
ADDED = _ASSETS / "coco_words_added.json"
"""Words that the table lacks (ours)."""


@dataclass(frozen=True, kw_only=True)
class Mention:
    """Tokens ``first`` to ``last`` (exclusive) name every one of ``classes``."""

    first: int
    last: int
    classes: frozenset[str]


class WordTable:
    """Classes and the words that stand for them (Kim et al. 2023, table 4; a class's own name always counts).

    A text is read from left to right and the longest entry that fits is taken (our reading), so that ``hot dog`` names
    no dog and ``teddy bear`` no bear. Plural forms are added by rule.

    Args:
        words: class name to further words; each a word or several separated by blanks or hyphens.

    Raises:
        DataError: a class has no name or its words are no list of texts.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self.words: dict[str, tuple[str, ...]] = {}
        self._entries: dict[tuple[str, ...], frozenset[str]] = {}
        for name, further in words.items():
            self._add(name, further)
        self._longest = max(map(len, self._entries), default=0)

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the table's order."""
        return tuple(self.words)

    def with_classes(self, names: Iterable[str]) -> WordTable:
        """Add the names that the table lacks, each standing for itself and its plural."""
        return self.with_words(dict.fromkeys(names, ()))

    def with_words(self, words: Mapping[str, Sequence[str]]) -> WordTable:
        """Add classes; those that come without words stay as they are, if they are there."""
        changed = {name: more for name, more in words.items() if (more or name not in self.words) and tokenise(name)}
        return WordTable({**self.words, **changed}) if changed else self

    def phrases(self, caption: str) -> tuple[NamedPhrase, ...]:
        """Return the noun phrases of a caption that hold a word of a class."""
        phrases = []
        for phrase in noun_phrases(caption):
            named = frozenset().union(*(mention.classes for mention in self.mentions(phrase.tokens)))
            if named:
                phrases.append(_named(phrase.start, phrase.end, named))
        return tuple(phrases)

    def shown(self, caption: str) -> tuple[NamedPhrase, ...]:
        """Return the words of classes inside the noun phrases of a caption."""
        return tuple(
            _named(phrase.tokens[mention.first].start, phrase.tokens[mention.last - 1].end, mention.classes)
            for phrase in noun_phrases(caption)
            for mention in self.mentions(phrase.tokens)
        )

    def mentions(self, tokens: Sequence[Token]) -> tuple[Mention, ...]:
        """Return what the tokens name, in order, without overlap."""
        mentions, position = [], 0
        words = [token.word for token in tokens]
        while position < len(words):
            for length in range(min(self._longest, len(words) - position), 0, -1):
                classes = self._entries.get(tuple(words[position : position + length]))
                if classes:
                    mentions.append(Mention(first=position, last=position + length, classes=classes))
                    position += length - 1
                    break
            position += 1
        return tuple(mentions)

    def _add(self, name: str, further: Sequence[str]) -> None:
        if not tokenise(name) or isinstance(further, str) or not all(isinstance(word, str) for word in further):
            raise DataError(
                f"A word table maps each class name to a list of words; got {name!r}: {further!r}. "
                'Write "dog": ["puppy"].'
            )
        self.words[name] = tuple(further)
        for word in (name, *further):
            for inflection in inflections(" ".join(token.word for token in tokenise(word))):
                key = tuple(inflection.split())
                if key:
                    self._entries[key] = self._entries.get(key, frozenset()) | {name}


def _named(start: int, end: int, classes: frozenset[str]) -> NamedPhrase:
    return NamedPhrase(start=start, end=end, classes=tuple(sorted(classes)), annotated=False)


def load_words(path: Path | None = None) -> WordTable:
    """Read a word table: JSON, class name to list of words; None: :data:`TABLE` and what is :data:`ADDED` to it.

    Raises:
        DataError: the file is missing or is no such table.
    """
    if path is not None:
        return WordTable(_read(path))
    table, added = _read(TABLE), _read(ADDED)
    return WordTable({name: (*words, *added.get(name, ())) for name, words in table.items()})


def added_words() -> dict[str, list[str]]:
    """Map each class name to the words that are ours.

    Raises:
        DataError: the file is missing or is no such table.
    """
    return _read(ADDED)


def _read(path: Path) -> dict[str, list[str]]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"A word table was needed at {path.name}; there is no such file.") from error
    except (OSError, ValueError) as error:
        raise DataError(f"The word table {path.name} cannot be read as JSON: {error}") from error
    if not isinstance(table, dict) or not all(isinstance(words, list) for words in table.values()):
        raise DataError(f"The word table {path.name} needs one object of class names with lists of words.")
    return table
