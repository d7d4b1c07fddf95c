"""Drawn scenes: the same at every call, boxes that hold their things, honest sentences, exact re-renders."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from trainers.data.captioned.loader import load_captioned
from trainers.data.picture import read_picture
from trainers.data.synthetic.scenes import DrawnScenes, build, drawing_of, drawn_scenes, pixels
from trainers.data.synthetic.scenes.draw import render
from trainers.data.synthetic.scenes.scene import CLASSES, COLOURS, PAIRS, WORN, make_layout
from trainers.errors import DataError, ParameterError
from trainers.object_removal.captions import classes_of
from trainers.object_removal.pairs import objects
from trainers.object_removal.regions import Regions, judge_all, pixel_mask
from trainers.object_removal.vocabulary import load_words

WORDS = load_words()


@pytest.fixture(scope="module")
def found():
    return drawn_scenes(DrawnScenes(train=400, val=20, test=100))


def test_the_same_settings_give_the_same_scenes_and_another_seed_others(found):
    again = drawn_scenes(DrawnScenes(train=400, val=20, test=100)).splits["train"]
    other = drawn_scenes(DrawnScenes(train=400, val=20, test=100, seed=1)).splits["train"]
    for one, same in zip(found.splits["train"][:20], again, strict=False):
        assert one.load() == same.load() == one.load() and one.captions == same.captions and one.boxes == same.boxes
    assert [scene.captions for scene in other] != [scene.captions for scene in again]
    numbers = {scene.image_id for part in found.splits.values() for scene in part}
    assert len(numbers) == 520
    layouts = [drawing_of(scene).layout.number for part in found.splits.values() for scene in part]
    assert layouts == list(range(520))  # no scene is in two splits


@pytest.mark.parametrize("size", [32, 64, 100, 256])
def test_without_a_class_nothing_changes_outside_its_boxes(found, size):
    for scene in found.splits["test"][:12]:
        drawing = drawing_of(scene)
        whole, empty = drawing.pixels(size), drawing.pixels(size, CLASSES)
        for thing in drawing.layout.things:
            less = drawing.pixels(size, (thing.name,))
            x0, y0, x1, y1 = (v * size for v in thing.box)
            touched = pixel_mask([(x0, y0, x1, y1)], size, size)
            assert (whole == less)[~touched].all()
            assert (whole != less)[touched].any()
        everything = pixel_mask([tuple(v * size for v in thing.box) for thing in drawing.layout.things], size, size)
        assert (whole == empty)[~everything].all()


@pytest.mark.parametrize(("size", "slack"), [(64, 1), (512, 2)])
def test_boxes_are_tight(found, size, slack):
    for scene in found.splits["test"][: 40 if size == 64 else 8]:
        drawing = drawing_of(scene)
        empty = drawing.pixels(size, CLASSES)
        for thing in drawing.layout.things:
            others = [name for name in CLASSES if name != thing.name]
            ys, xs = np.nonzero((drawing.pixels(size, others) != empty).any(-1))
            seen = np.array([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1])
            assert np.abs(seen - np.array(thing.box) * size).max() <= slack, (thing, seen)


def test_sentences_name_what_is_there_and_nothing_else(found):
    named, there, lengths = 0, 0, set()
    for scene in found.splits["train"]:
        assert len(scene.captions) == 5
        for caption in scene.captions:
            said = classes_of(caption, WORDS)
            assert said and said <= set(scene.classes), (caption, said, scene.classes)
            assert caption == caption.lower() and "  " not in caption and " a a" not in caption
            lengths.add(len(caption.split()))
            named += len(said)
            there += len(set(scene.classes))
    assert min(lengths) >= 5 and max(lengths) <= 16
    assert named / there == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("mention", [0.3, 1.0])
def test_how_often_a_thing_is_named_follows_the_setting(mention):
    scenes = drawn_scenes(DrawnScenes(train=150, val=0, test=20, mention=mention)).splits["train"]
    shares = [len(classes_of(text, WORDS)) / len(scene.classes) for scene in scenes for text in scene.captions]
    assert np.mean(shares) == (1.0 if mention == 1 else pytest.approx(0.3 + 0.7**2 / 2, abs=0.08))  # one at least


def test_sizes_and_hair_in_sentences_are_those_in_the_picture(found):
    people = {0: {"man", "boy", "guy"}, 1: {"woman", "girl", "lady"}}
    for scene in found.splits["train"]:
        things = drawing_of(scene).layout.things
        measures = {thing.measure for thing in things}
        for caption in scene.captions:
            words = set(caption.split())
            assert "small" in measures or not words & {"small", "little"}
            assert "large" in measures or not words & {"large", "big"}
            for thing in things:
                if thing.name == "person":
                    assert not words & people[1 - thing.variant % 2]


def test_colours_in_sentences_are_those_in_the_picture(found):
    coloured = 0
    for scene in found.splits["train"]:
        colour_of = {thing.name: thing.colour for thing in drawing_of(scene).layout.things}
        for caption in scene.captions:
            words = caption.split()
            for index, word in enumerate(words):
                if word in COLOURS:  # "a red ball", "a man in red"
                    phrase = words[index - 1] if words[index - 1 : index] == ["in"] else words[index + 1]
                    whose = ["person"] if phrase == "in" else list(classes_of(f"a {phrase}", WORDS))
                    assert [colour_of[name] for name in whose] == [word], caption
                    coloured += 1
    assert coloured > 800
    assert {colour for colours in WORN.values() for colour in colours} <= set(COLOURS)


@pytest.mark.parametrize("bias", [0.6, 0.92, 1.0])
def test_how_often_a_pair_is_together(bias):
    both = 0
    for number in range(1500):
        layout = make_layout(3, number, bias)
        pair = next(pair for pair in PAIRS if pair[2] == layout.background)
        both += set(pair[:2]) <= {thing.name for thing in layout.things}
    assert both / 1500 == pytest.approx(bias, abs=0.04)


def test_things_hardly_cover_each_other_and_may_be_removed(found):
    allowed, shared = 0, []
    for scene in found.splits["train"]:
        boxes, classes, dropped = objects(scene, 64, 64)
        assert dropped == 0 and len(classes) == len(set(classes))
        verdicts = judge_all(Regions.of_boxes(boxes, classes, 64, 64))
        allowed += any(verdict.allowed for verdict in verdicts)
        for thing in drawing_of(scene).layout.things:
            assert min(thing.box) >= 0 and max(thing.box) <= 1
        for one, other in combinations(scene.boxes, 2):
            width, height = (min(one[i + 2], other[i + 2]) - max(one[i], other[i]) for i in (0, 1))
            areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
            shared.append(max(width, 0) * max(height, 0) / min(areas))
    assert allowed / 400 > 0.95
    assert 0 < max(shared) < 0.12


def test_many_at_once_are_the_same_as_one_by_one(found):
    scenes = found.splits["test"][:6]
    gone = [(scene.classes[0],) for scene in scenes]
    for size, removed in ((64, None), (40, gone)):
        together = pixels(scenes, size, removed)
        assert together.shape == (6, 3, size, size) and together.dtype == np.uint8
        for row, scene in enumerate(scenes):
            one = render(drawing_of(scene).layout, size, () if removed is None else removed[row])
            assert np.array_equal(together[row].transpose(1, 2, 0), one)
    picture = read_picture(scenes[0].load())
    assert np.array_equal(picture.pixels.transpose(2, 0, 1), pixels(scenes[:1], 64)[0])
    again = read_picture(scenes[0].without(gone[0]))
    assert np.array_equal(again.pixels.transpose(2, 0, 1), pixels(scenes[:1], 64, gone[:1])[0])


def test_it_opens_by_name_and_with_settings_in_its_name():
    usual = load_captioned("drawn_scenes", limit=30)
    assert {name: len(part) for name, part in usual.splits.items()} == {"train": 30, "val": 30, "test": 30}
    assert usual.classes == CLASSES and usual.licence == "CC0-1.0" and "shortcut" in usual.notes[0]
    other = load_captioned("drawn_scenes:bias=0.6,train=60,val=0", limit=50)
    assert usual.title == "Drawn scenes" and other.title == "Drawn scenes, pairs in 60%"
    assert [len(part) for part in other.splits.values()] == [50, 0, 50] and "60%" in other.notes[0]
    wrong = ("bias", "bias=much", "bias=0.1", "colour=3", "mention=2", "size=8", "train=0")
    for settings in wrong:
        with pytest.raises((DataError, ParameterError)):
            load_captioned(f"drawn_scenes:{settings}")


def test_scenes_are_thought_out_when_they_are_looked_at_and_none_above_the_limit(monkeypatch):
    made, think = [], build.make_layout
    monkeypatch.setattr(build, "make_layout", lambda *given: made.append(given) or think(*given))
    few = load_captioned("drawn_scenes:train=90,val=60,test=20", limit=3).splits
    assert made == [], "nobody has looked yet"
    assert [len(list(scenes)) for scenes in few.values()] == [3, 3, 3] and len(made) == 9
    with pytest.raises(IndexError):
        few["val"][3]
    whole = load_captioned("drawn_scenes:train=90,val=60,test=20").splits
    for name, scenes in few.items():
        assert [(scene.captions, scene.load()) for scene in scenes] == [
            (one.captions, one.load()) for one in whole[name][:3]
        ]
