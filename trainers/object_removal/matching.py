"""match(c, n) of Kim et al. 2023: which classes the noun phrases of a caption name.

Where people annotated the phrases, as in Flickr30k Entities, the annotation says it; else a word table does, as for
COCO. Both answer the same questions, so that whoever asks need not know which of them it is.

from trainers.object_removal.matching import matcher_of
matcher = matcher_of(scene_set, load_words())
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from trainers.data.captioned_images import CaptionedDataset, CaptionedImage, NamedPhrase


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
