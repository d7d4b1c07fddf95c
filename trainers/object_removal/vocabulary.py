"""The object classes that a text is about: a word table, compared by whole tokens, longest entry first.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainers.data.captioned_images import NamedPhrase
from trainers.errors import DataError
from trainers.object_removal.chunker import noun_phrases
from trainers.object_removal.tokens import Token, inflections, tokenise

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
