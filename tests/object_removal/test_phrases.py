"""Tokens, the word table, the chunker against captions read by eye, and captions without an object.

``captions.json`` refers to captions of the COCO part (CC BY 4.0) by image id and place: [image id, caption, tokens,
chunks as token ranges, classes]. The first 220 were read while the rules were written, the last 60 after that. Where
the chunker is wrong, the file has what is right.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared import needs
from trainers.errors import DataError, UserError
from trainers.object_removal.captions import (
    classes_of,
    language_note,
    mention_table,
    prompt,
    prompt_templates,
    remove_phrases,
)
from trainers.object_removal.chunker import inflections, noun_phrases, tokenise
from trainers.object_removal.vocabulary import TABLE, WordTable, added_words, load_words

CHECKED = json.loads(Path(__file__).with_name("captions.json").read_text())
WORDS = load_words()
SOME = ("a", "two", "dog", "of", "cat's", "and", "hot", "running", ",", ".", "the", "big", "in")


def named(table: WordTable, text: str) -> set[str]:
    return {name for mention in table.mentions(tokenise(text)) for name in mention.classes}


@cache
def captions() -> dict[tuple[int, int], str]:
    import pyarrow.parquet as parquet

    found = {}
    for path in sorted(needs("data/coco_captions/data").glob("*.parquet")):
        for row in parquet.read_table(path, columns=["image_id", "captions"]).to_pylist():
            found.update({(row["image_id"], index): text for index, text in enumerate(row["captions"])})
    return found


@pytest.mark.parametrize(("part", "share"), [(CHECKED[:220], 0.98), (CHECKED[220:], 0.94)], ids=["seen", "held out"])
def test_chunks_of_captions_read_by_eye(part, share):
    right = listed = found = 0
    for image, place, tokens, chunks, _ in part:
        text = captions()[image, place]
        assert len(tokenise(text)) == tokens
        got = {(phrase.first, phrase.last) for phrase in noun_phrases(text)}
        want = {tuple(chunk) for chunk in chunks}
        right, listed, found = right + len(got & want), listed + len(want), found + len(got)
    assert right / listed >= share and right / found >= share


def test_classes_of_captions_read_by_eye():
    texts = [captions()[image, place] for image, place, *_ in CHECKED]
    wrong = [
        (text, sorted(classes_of(text, WORDS)), want)
        for text, (*_, want) in zip(texts, CHECKED, strict=True)
        if sorted(classes_of(text, WORDS)) != want
    ]
    assert len(CHECKED) >= 200
    assert len(wrong) <= 1, wrong  # one held-out caption lists its drinks after a verb form


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("a catcher in a mask", {"person"}),
        ("a carrot beside a bush", {"carrot"}),
        ("a mango and a skirt", set()),
        ("a hot dog with mustard", {"hot dog"}),
        ("two hot-dogs", {"hot dog"}),
        ("a dog eating a hot dog", {"dog", "hot dog"}),
        ("a teddy bear", {"teddy bear"}),
        ("a brown bear", {"bear", "teddy bear"}),
        ("a glass of wine", {"wine glass", "cup"}),
        ("a wine glass", {"wine glass"}),
        ("the man's hat", {"person"}),
        ("three puppies and some geese", {"dog", "bird"}),
        ("knives, mice and oxen", {"knife", "mouse", "cow"}),
        ("a BUS", {"bus"}),
        ("the children's skis", {"person", "skis"}),
        ("a stop sign", {"stop sign"}),
        ("buses and benches", {"bus", "bench"}),
        ("a cyclist", {"person"}),
        ("two bicyclists cycling", {"person", "bicycle"}),
        ("a biker on a bike", {"person", "bicycle"}),
        ("a motorcyclist on a motorbike", {"person", "motorcycle"}),
        ("skiers, snowboarders and skateboarders", {"person"}),
        ("kitesurfers, wakeboarders and a paddleboarder", {"person"}),
        ("a surfer with a surfboard", {"person", "surfboard"}),
        ("an equestrian", {"person"}),
    ],
)
def test_whole_tokens_and_longest_entry(text, classes):
    assert named(WORDS, text) == classes


@pytest.mark.parametrize(
    ("word", "plural"),
    [("puppy", "puppies"), ("toy", "toys"), ("bench", "benches"), ("knife", "knives"), ("bus", "buses")],
)
def test_plurals(word, plural):
    assert plural in inflections(word)


def test_the_word_table_has_cocos_classes_and_can_be_replaced(tmp_path):
    assert len(WORDS.classes) == 80 and WORDS.classes[0] == "person" and WORDS.classes[79] == "toothbrush"
    folder = tmp_path / "words.json"
    folder.write_text('{"wing chair": ["armchair"]}')
    assert named(load_words(folder), "two armchairs and a wing-chair") == {"wing chair"}
    for text, needle in (
        ("{", "JSON"),
        ("[]", "one object"),
        ('{"a": "b"}', "lists of words"),
        ('{"": []}', "class name"),
    ):
        folder.write_text(text)
        with pytest.raises(DataError, match=needle):
            load_words(folder)
    with pytest.raises(DataError, match="no such file"):
        load_words(tmp_path / "none.json")


def test_words_of_ours_stand_apart_from_the_papers_table():
    published, added = load_words(TABLE), added_words()
    assert published.classes == WORDS.classes and "cyclist" in added["person"] and not named(published, "a cyclist")
    for name, words in added.items():
        assert (
            words
            and not named(published, " ".join(words))
            and WORDS.words[name] == published.words[name] + tuple(words)
        )


def test_a_class_the_table_does_not_know_stands_for_itself_and_its_plural():
    table = WORDS.with_classes(["dragonfly", "dog"])
    assert named(table, "two dragonflies above a puppy") == {"dragonfly", "dog"}
    assert table.words["dragonfly"] == () and table.words["dog"] == ("puppy",)


@pytest.mark.parametrize(
    ("caption", "removed", "text"),
    [
        ("Two dogs fighting over a frisbee", {"frisbee"}, "Two dogs fighting over"),
        ("A cat and a dog on a bed.", {"cat"}, "a dog on a bed."),
        ("A boat, a kite and a bird.", {"kite"}, "A boat, and a bird."),
        ("A dog.", {"dog"}, ""),
        ("A dog in the park.", {"cat"}, "A dog in the park."),
        ("", {"dog"}, ""),
        ("...!", {"dog"}, "...!"),
    ],
)
def test_deleting_noun_phrases(caption, removed, text):
    assert remove_phrases(caption, removed, WORDS).text == text


def test_a_caption_without_nouns_names_nothing_and_stays():
    for caption in ("", "?!", "and of with", "running", "日本語のキャプション"):
        edited = remove_phrases(caption, {"dog"}, WORDS)
        assert edited.text == caption and edited.kept == frozenset() and not edited.deleted


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from(SOME)).map(" ".join))
def test_any_text_is_cut_into_phrases_of_its_own(text):
    last = 0
    for phrase in noun_phrases(text):
        assert phrase.start >= last and text[phrase.start : phrase.end] == phrase.text
        assert phrase.tokens == tokenise(text)[phrase.first : phrase.last]
        last = phrase.end
    left = remove_phrases(text, WORDS.classes, WORDS)
    assert left.kept == frozenset() and len(left.text) <= len(text)


def test_a_table_of_many_sentences():
    texts = ["a dog", "a cat and a dog", "a dog", "nothing"]
    table = mention_table(texts, WORDS)
    assert table.shape == (4, 80) and table.dtype == np.bool_
    for row, text in zip(table, texts, strict=True):
        assert {name for name, named in zip(WORDS.classes, row, strict=True) if named} == classes_of(text, WORDS)
    assert mention_table([], WORDS).shape == (0, 80)


def test_prompts():
    templates = prompt_templates()
    assert len(templates) == 80 and all(template.count("{}") == 1 for template in templates)
    assert prompt(["person", "dog"], "a photo of {}") == "a photo of person and dog"
    for classes, template in (([], "a {}"), (["dog"], "a")):
        with pytest.raises(UserError, match="at least one"):
            prompt(classes, template)


def test_text_that_is_not_english_is_noted():
    assert "English" in str(language_note(["Собака на траве"], WORDS))
    assert "English" in str(language_note(["ein Hund auf der Wiese"] * 20, WORDS))
    assert language_note(["a dog on grass"] * 20, WORDS) is None
    assert language_note([], WORDS) is None and language_note(["..."] * 30, WORDS) is None
    assert named(WordTable({"Hund": ["Welpe"]}), "ein Welpe") == {"Hund"}
