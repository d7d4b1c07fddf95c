"""Object-removed pairs: what is made, what is dropped and why; every image of the real dataset."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image

from tests.shared import needs
from trainers.data.captioned.loader import load_captioned
from trainers.data.captioned_images import CaptionedImage
from trainers.data.picture import read_picture
from trainers.errors import UserError
from trainers.metrics.counterfactual import counterfactual
from trainers.object_removal.captions import classes_of, mention_table
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import Tally, build_pairs, class_tables, removals, scaled_mask
from trainers.object_removal.regions import Regions, judge_all
from trainers.object_removal.vocabulary import load_words

WORDS = load_words()


def png(side: int = 100) -> bytes:
    data = io.BytesIO()
    pixels = np.random.default_rng(side).integers(1, 255, (side, side, 3), np.uint8)
    Image.fromarray(pixels).save(data, "PNG")
    return data.getvalue()


def scene(name: str, objects: list, captions: list[str], data: bytes | None = None) -> CaptionedImage:
    found = png() if data is None else data
    return CaptionedImage(
        image_id=name,
        load=lambda: found,
        captions=tuple(captions),
        boxes=tuple(box for _, box in objects),
        classes=tuple(label for label, _ in objects),
    )


PLAIN = [("dog", (0, 0, 30, 30)), ("frisbee", (50, 50, 60, 60))]


def test_what_is_made_and_what_is_dropped():
    scenes = [
        scene("good", PLAIN, ["a dog and a frisbee", "a dog", "a frisbee"]),
        scene("one", PLAIN[:1], ["a dog"]),
        scene("none", [], ["a dog"]),
        scene("covered", [("bed", (0, 0, 99, 99)), ("cat", (0, 0, 99, 98))], ["a cat"]),
        scene("unsaid", PLAIN, ["", "?!", "something green"]),
        scene("broken", PLAIN, ["a dog"], b"no picture"),
        scene("odd", [*PLAIN, ("cat", (300, 300, 400, 400))], ["a dog with a frisbee"]),
    ]
    tally = Tally()
    pairs = list(build_pairs(scenes, WORDS, FILLS["zero"], captions_each=5, tally=tally))
    assert [pair.removal.scene.image_id for pair in pairs] == ["good", "odd"]
    assert (tally.images, tally.one_class, tally.unreadable) == (7, 2, 1)
    assert (tally.no_allowed_class, tally.no_caption, tally.boxes_dropped) == (1, 1, 1)
    for pair in pairs:
        (x0, y0, x1, y1) = dict(PLAIN)[pair.removal.judgement.chosen]
        assert (pair.removal.pixels[y0:y1, x0:x1] == 0).all() and (pair.removal.pixels[80:, 80:] > 0).all()
        for text in pair.texts:
            assert not classes_of(text, WORDS) & set(pair.removal.judgement.removed)
            assert classes_of(text, WORDS) & set(pair.removal.judgement.kept)


def test_the_same_seed_gives_the_same_pairs_whatever_else_is_in_the_set():
    scenes = [scene(str(number), PLAIN, ["a dog", "a frisbee"]) for number in range(12)]
    chosen = [pair.removal.judgement.chosen for pair in build_pairs(scenes, WORDS, FILLS["zero"])]
    tail = [pair.removal.judgement.chosen for pair in build_pairs(scenes[5:], WORDS, FILLS["zero"])]
    assert chosen[5:] == tail and len(set(chosen)) == 2
    other = [pair.removal.judgement.chosen for pair in build_pairs(scenes, WORDS, FILLS["zero"], seed=1)]
    assert chosen != other


def test_edited_sentences_come_first_and_may_be_the_only_ones():
    captions = ["a dog", "a dog with a frisbee", "one dog and one frisbee", "a frisbee"]
    scenes = [scene(str(number), PLAIN, captions) for number in range(8)]
    found = [pair for pair in build_pairs(scenes, WORDS, FILLS["zero"], captions_each=5)]
    texts = {pair.removal.judgement.chosen: (pair.texts, pair.edited) for pair in found}
    assert texts["frisbee"] == (("a dog with", "one dog and", "a dog"), (True, True, False))
    assert texts["dog"] == (("a frisbee", "one frisbee", "a frisbee"), (True, True, False))
    tally = Tally()
    strict = list(build_pairs(scenes, WORDS, FILLS["zero"], captions_each=5, only_edited=True, tally=tally))
    assert all(pair.edited == (True, True) for pair in strict)
    assert all(pair.edited == (True,) for pair in build_pairs(scenes, WORDS, FILLS["zero"]))
    never = [scene("1", PLAIN, ["something green", "a dog and a frisbee", "a dog"][:1])]
    assert not list(build_pairs(never, WORDS, FILLS["zero"], only_edited=True))


def test_the_real_set_gives_pairs_from_about_as_many_photos_as_the_paper():
    """The paper has pairs from 40 % of COCO's images."""
    dataset = load_captioned(str(needs("data/coco_captions")))
    scenes = [one for part in dataset.splits.values() for one in part]
    either = list(build_pairs(scenes, WORDS, FILLS["zero"], longest=64))
    edited = list(build_pairs(scenes, WORDS, FILLS["zero"], longest=64, only_edited=True))
    assert 0.35 < len(edited) / len(scenes) < 0.5 < 0.7 < len(either) / len(scenes)
    first = {pair.removal.scene.image_id: pair for pair in either if pair.edited[0]}
    assert set(first) == {pair.removal.scene.image_id for pair in edited}
    assert all(first[pair.removal.scene.image_id].texts == pair.texts for pair in edited)


def test_prompts_name_what_is_left():
    pairs = list(build_pairs([scene("1", PLAIN, [])], WORDS, FILLS["mean"], text="prompts", captions_each=3))
    assert len(pairs[0].texts) == 3
    judgement = pairs[0].removal.judgement
    assert all(judgement.kept[0] in text and judgement.chosen not in text for text in pairs[0].texts)


def test_boxes_follow_a_shrunk_photo():
    picture = read_picture(png(1024))
    mask = scaled_mask(picture, [(0.0, 0.0, 100.0, 50.0)], ["dog"], ["dog"])
    assert picture.pixels.shape == (512, 512, 3) and mask.sum() == 50 * 25


def test_a_class_outside_the_word_table():
    odd = [("dragonfly", (0, 0, 30, 30)), ("dog", (50, 50, 60, 60))]
    scenes = [scene(str(number), odd, ["a dog and two dragonflies"]) for number in range(8)]
    texts = {pair.removal.judgement.chosen: pair.texts for pair in build_pairs(scenes, WORDS, FILLS["zero"])}
    assert texts == {"dragonfly": ("a dog and",), "dog": ("two dragonflies",)}


def test_queries_of_the_real_set_are_scored():
    scenes = load_captioned(str(needs("data/coco_captions"))).splits["test"]
    one = list(removals(scenes, FILLS["mean"], longest=64))
    every = list(removals(scenes, FILLS["mean"], longest=64, every=True))
    assert {found.judgement.chosen for found in one} <= {found.judgement.chosen for found in every}
    assert len({found.scene.image_id for found in every}) == len(one) < len(every)
    sentences = [text for photo in scenes for text in photo.captions]
    present, removed = class_tables([found.judgement for found in one], WORDS.classes)
    assert not (present & removed).any() and removed.any(1).all() and present.any(1).all()
    torch.manual_seed(0)
    tables = (torch.from_numpy(table) for table in (mention_table(sentences, WORDS), present, removed))
    scores = counterfactual(torch.randn(len(one), 16), torch.randn(len(sentences), 16), *tables)
    assert scores.counts["queries"] == len(one)
    assert 0 < np.nanmean(scores.values["ODmAP_at_1"]) < 0.5  # by chance
    with pytest.raises(UserError, match="lacks"):
        class_tables([found.judgement for found in one], ["dog"])


def test_a_photo_without_objects_is_no_error():
    tally = Tally()
    assert not list(removals([scene("bare", [], ["a dog"])], FILLS["telea"], tally=tally))
    assert tally.one_class == 1 and judge_all(Regions.of_boxes([], [], 10, 10)) == ()
