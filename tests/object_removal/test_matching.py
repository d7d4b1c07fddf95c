"""Flickr30k Entities: what a caption names, what is deleted and what counts as right is what people annotated."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.entities import TEST, marked, write_entities
from trainers.data.captioned.loader import load_captioned
from trainers.data.captioned_images import CaptionedDataset
from trainers.metrics.counterfactual import counterfactual
from trainers.object_removal.benchmark import make_benchmark
from trainers.object_removal.captions import classes_of, mention_table, remove_phrases
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import Tally, build_pairs, removals
from trainers.object_removal.vocabulary import annotated, load_words, matcher_of

WORDS = load_words()
FOUR = {"people", "animals", "vehicles", "instruments"}


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> CaptionedDataset:
    return load_captioned(str(write_entities(tmp_path_factory.mktemp("entities"))))


def by_annotation(lines: list[str]) -> dict[str, set[str]]:
    """Caption to classes, read another way than by the product; of equal captions the first counts."""
    read: dict[str, set[str]] = {}
    for line in lines:
        text, phrases = marked(line)
        read.setdefault(text, set().union(*(types for _, types in phrases)) & FOUR)
    return read


def test_two_men_and_a_dog(found):
    matcher = matcher_of(found, WORDS)
    said = "Two men play with a dog ."
    assert classes_of(said, matcher) == {"people", "animals"}
    assert remove_phrases(said, ["people"], matcher).text == "play with a dog ."
    edited = remove_phrases(said, ["animals"], matcher)
    assert edited.text == "Two men play with ." and edited.deleted == ("a dog",) and edited.kept == {"people"}
    assert remove_phrases("They are outside .", ["people"], matcher).text == "are outside ."  # no word of any table
    both = "A man and his wife ride oxen ."
    assert remove_phrases(both, ["people"], matcher).text == "and ride oxen ."  # to the letter: nothing is repaired
    assert remove_phrases("Nobody marked anything .", list(FOUR), matcher).text == "Nobody marked anything ."


def test_the_annotation_outweighs_words(found):
    matcher = matcher_of(found, WORDS)
    assert matcher.classes == ("people", "animals", "vehicles", "instruments")
    for lines, _ in TEST:
        for line in lines:
            text, phrases = marked(line)
            assert classes_of(text, matcher) == set().union(*(types for _, types in phrases)) & FOUR, text
            for gone in FOUR:
                left = text
                for phrase, types in phrases:
                    left = left.replace(phrase, "", 1) if gone in types else left
                edited = remove_phrases(text, [gone], matcher)
                assert edited.text == (" ".join(left.split()) if any(map(str.isalnum, left)) else ""), (text, gone)
    assert classes_of("The choir and a toy dog on a rickshaw .", matcher) == {"people", "vehicles"}
    assert classes_of("Men in kilts with bagpipes .", matcher) == {"people", "instruments"}
    assert classes_of("Someone in a sleigh .", matcher) == {"people", "vehicles"}  # a phrase without a box counts


def test_sentences_that_nobody_annotated_are_read_by_words(found):
    matcher = matcher_of(found, WORDS)
    assert classes_of("a woman on a pony", matcher) == {"people", "animals"}
    assert classes_of("two guitars in a van and a hot dog", matcher) == {"instruments", "vehicles"}
    assert remove_phrases("a woman on a pony", ["people"], matcher).text == "on a pony"
    assert [one.classes for one in matcher.shown("two men with drums")] == [("people",), ("instruments",)]


def test_a_class_that_the_annotation_does_not_know_is_read_by_words(found):
    matcher = matcher_of(found, WORDS).with_words({"dog": ()})
    assert matcher.classes[-1] == "dog" and matcher.words["dog"] == ("puppy",) and matcher.words["people"] == ()
    assert classes_of("A puppy and nothing else .", matcher) == {"animals", "dog"}
    assert classes_of("The choir and a toy dog on a rickshaw .", matcher) == {"people", "vehicles", "dog"}
    assert remove_phrases("A puppy and nothing else .", ["dog"], matcher).deleted == ("A puppy",)
    own = matcher.with_words({"people": ("outside",)})  # whoever gives words for a class asks for words
    assert classes_of("Two men play with a dog .", own) == {"animals", "dog"}


def test_which_photos_ask(found):
    tally = Tally()
    asked = list(removals(found.splits["test"], FILLS["zero"], every=True, tally=tally))
    assert [one.scene.image_id for one in asked] == ["2000", "2000", "2001", "2001", "2002", "2002", "2003", "2003"]
    assert tally.one_class == 5 and tally.images == 9 and tally.unreadable == 0
    assert {name for one in asked for name in (*one.judgement.kept, *one.judgement.removed)} <= FOUR


@pytest.mark.parametrize("prepared", [False, True])
def test_pairs_to_train_on_lack_the_annotated_words(found, prepared):
    scenes = found.splits["train"]
    words = matcher_of(found, WORDS) if prepared else WORDS
    tally = Tally()
    pairs = list(build_pairs(scenes, words, FILLS["zero"], captions_each=5, tally=tally))
    assert len(pairs) == len(scenes)
    phrases = {text: phrase for scene in scenes for text, phrase in zip(scene.captions, scene.phrases, strict=True)}
    for pair, scene in zip(pairs, scenes, strict=True):
        (gone,), (kept,) = pair.removal.judgement.removed, pair.removal.judgement.kept
        expected = []
        for text in scene.captions:
            named = {text[one.start : one.end]: one.classes for one in phrases[text]}
            left = " ".join(" ".join(text.replace(p, "") for p, of in named.items() if gone in of).split()) or text
            if any(kept in of for of in named.values()):
                expected.append(left)
        assert list(pair.texts) == expected


def test_odmap_by_the_annotation_against_a_slow_computation(found):
    benchmark = make_benchmark(found, WORDS, 32, fill="zero", every=True)
    read = {text: set() for scenes in found.splits.values() for scene in scenes for text in scene.captions}
    for scene in (one for part in found.splits.values() for one in part):
        for text, phrases in zip(scene.captions, scene.phrases, strict=True):
            read[text] = {name for phrase in phrases for name in phrase.classes}
    for text, classes in by_annotation([line for lines, _ in TEST for line in lines]).items():
        assert read[text] == classes
    assert list(benchmark.gallery) == list(read)
    draws = np.random.default_rng(5)
    queries, gallery = draws.normal(size=(len(benchmark.queries), 8)), draws.normal(size=(len(benchmark.gallery), 8))
    got = counterfactual(
        torch.from_numpy(queries),
        torch.from_numpy(gallery),
        benchmark.mentions,
        benchmark.present,
        benchmark.removed,
        ks=(1, 5),
    ).values
    for row, removal in enumerate(benchmark.removals):
        gone, kept = set(removal.judgement.removed), set(removal.judgement.kept)
        right = [not (read[text] & gone) and bool(read[text] & kept) for text in benchmark.gallery]
        cosine = gallery @ queries[row] / np.linalg.norm(gallery, axis=1)
        order = np.argsort(-cosine)
        for k in (1, 5):
            hits, total = 0, 0.0
            for rank, place in enumerate(order[:k], 1):
                hits += right[place]
                total += right[place] * hits / rank
            assert got[f"ODmAP_at_{k}"][row] == pytest.approx(total / min(k, sum(right)))
            wrong = np.mean([bool(read[benchmark.gallery[place]] & gone) for place in order[:k]])
            assert got[f"hallucination_at_{k}"][row] == pytest.approx(wrong)
    by_words = mention_table(benchmark.gallery, WORDS.with_classes(found.classes))
    assert not by_words[:, WORDS.with_classes(found.classes).classes.index("people")].any()  # as it was without them


def test_what_is_not_annotated_is_left_to_the_table(found):
    bare = [scene for scene in found.splits["test"] if not scene.phrases]
    assert not bare and annotated(bare, WORDS) is WORDS
