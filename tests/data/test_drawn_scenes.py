"""Drawn scenes: the same at every call, boxes that hold their things, honest sentences, exact re-renders."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.data.captions import load_scenes
from trainers.data.drawn_scenes import DrawnScenes, are_drawn, drawing_of, drawn_scenes, pixels
from trainers.data.drawn_scenes.world import CLASSES, COLOURS, MOST_OVERLAP, PAIRS, WORN, make_layout
from trainers.errors import DataError, ParameterError
from trainers.parameters import make
from trainers.removal.fills import FILLS
from trainers.removal.pairs import Tally, objects, removals
from trainers.removal.picture import read_picture
from trainers.removal.regions import Regions, pixel_mask
from trainers.removal.rules import judge_all
from trainers.removal.text import classes_of
from trainers.removal.words import load_words

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


def test_boxes_are_tight(found):
    loose = []
    for scene in found.splits["test"][:60]:
        drawing = drawing_of(scene)
        for thing in drawing.layout.things:
            others = [name for name in CLASSES if name != thing.name]
            drawn = (drawing.pixels(256, others) != drawing.pixels(256, CLASSES)).any(-1)
            ys, xs = np.nonzero(drawn)
            seen = np.array([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]) / 256
            loose.append(np.abs(seen - np.array(thing.box)).max())
    assert np.mean(loose) < 0.012 and max(loose) < 0.05  # shares of the picture


def test_sentences_name_what_is_there_and_nothing_else(found):
    scenes = found.splits["train"]
    named, there = 0, 0
    for scene in scenes:
        for caption in scene.captions:
            said = classes_of(caption, WORDS)
            assert said and said <= set(scene.classes), (caption, said, scene.classes)
            assert 3 <= len(caption.split()) <= 26 and caption == caption.lower()
            named += len(said)
            there += len(set(scene.classes))
    assert named / there == pytest.approx(0.8, abs=0.03)


def test_colours_in_sentences_are_those_in_the_picture(found):
    for scene in found.splits["train"]:
        worn = {thing.colour for thing in drawing_of(scene).layout.things}
        for caption in scene.captions:
            assert set(caption.split()) & set(COLOURS) <= worn
    assert {colour for colours in WORN.values() for colour in colours} <= set(COLOURS)


@pytest.mark.parametrize("bias", [0.6, 0.92, 1.0])
def test_how_often_a_pair_is_together(bias):
    both = 0
    for number in range(1500):
        layout = make_layout(3, number, bias)
        pair = next(pair for pair in PAIRS if pair[2] == layout.home)
        both += set(pair[:2]) <= {thing.name for thing in layout.things}
    assert both / 1500 == pytest.approx(bias, abs=0.04)


def test_things_hardly_cover_each_other_and_may_be_removed(found):
    allowed = 0
    for scene in found.splits["train"]:
        boxes, classes, dropped = objects(scene, 64, 64)
        assert dropped == 0 and len(classes) == len(set(classes))
        verdicts = judge_all(Regions.of_boxes(boxes, classes, 64, 64))
        allowed += any(verdict.allowed for verdict in verdicts)
        for thing in drawing_of(scene).layout.things:
            assert min(thing.box) >= 0 and max(thing.box) <= 1
    assert allowed / 400 > 0.95 and MOST_OVERLAP < 0.4


def test_many_at_once_are_the_same_as_one_by_one(found):
    scenes = found.splits["test"][:6]
    gone = [(scene.classes[0],) for scene in scenes]
    for size, removed in ((64, None), (40, gone)):
        together = pixels(scenes, size, removed)
        assert together.shape == (6, 3, size, size) and together.dtype == np.uint8
        for row, scene in enumerate(scenes):
            one = drawing_of(scene).pixels(size, () if removed is None else removed[row])
            assert np.array_equal(together[row].transpose(1, 2, 0), one)
    picture = read_picture(scenes[0].load())
    assert np.array_equal(picture.pixels.transpose(2, 0, 1), pixels(scenes[:1], 64)[0])
    again = read_picture(scenes[0].without(gone[0]))
    assert np.array_equal(again.pixels.transpose(2, 0, 1), pixels(scenes[:1], 64, gone[:1])[0])


def test_a_photo_cannot_be_drawn_again(found):
    import dataclasses

    photo = dataclasses.replace(found.splits["test"][0], load=lambda: b"", without=None)
    assert not are_drawn([photo]) and not are_drawn([])
    with pytest.raises(DataError, match="only drawn scenes can be drawn again"):
        pixels([photo], 64)


def test_it_opens_by_name_like_any_other_set():
    found = load_scenes("drawn_scenes", limit=30)
    assert {name: len(part) for name, part in found.splits.items()} == {"train": 30, "val": 30, "test": 30}
    assert found.classes == CLASSES and found.licence == "CC0-1.0" and "shortcut" in found.notes[0]
    tally = Tally()
    done = list(removals(found.splits["test"], FILLS["telea"], longest=64, tally=tally))
    assert len(done) >= 25 and tally.boxes_dropped == 0


@pytest.mark.parametrize("wrong", [{"bias": 0.2}, {"mention": 2}, {"size": 8}, {"train": 0}, {"bias": "much"}])
def test_settings_out_of_range_are_said(wrong):
    with pytest.raises(ParameterError, match="Drawn scenes"):
        make(DrawnScenes, wrong, "Drawn scenes")


def test_the_truth_differs_from_what_a_fill_guesses(found):
    differences = []
    for removal in removals(found.splits["test"][:20], FILLS["telea"], longest=64):
        again = read_picture(removal.scene.without(removal.judgement.removed)).pixels
        differences.append(np.abs(again.astype(int) - removal.pixels).mean())
    assert 0 < np.mean(differences) < 20
    assert torch.tensor(differences).isfinite().all()
