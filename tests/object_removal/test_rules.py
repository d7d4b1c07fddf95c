"""Overlap rules on boxes made by hand, and areas against counting pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.errors import UserError
from trainers.object_removal.regions import Regions, choose, clean_boxes, judge, judge_all, pixel_mask


def photo(*objects: tuple[str, tuple[float, float, float, float]], side: int = 100) -> Regions:
    return Regions.of_boxes([box for _, box in objects], [name for name, _ in objects], side, side)


def test_single_class():
    judgement = judge(photo(("dog", (0, 0, 40, 40)), ("cat", (30, 0, 70, 40))), "dog")
    assert judgement.allowed and judgement.case == "single"
    assert judgement.removed == ("dog",) and judgement.kept == ("cat",)
    assert judgement.lost == {"cat": pytest.approx(0.25)} and judgement.share == pytest.approx(0.16)


def test_the_class_that_stays_is_the_denominator():
    regions = photo(("bed", (0, 0, 80, 80)), ("cat", (0, 0, 10, 10)))
    assert judge(regions, "cat").allowed  # the bed loses 1.6 %
    assert not judge(regions, "bed").allowed  # the cat loses everything


def test_several_classes_go_together():
    regions = photo(("table", (0, 0, 60, 60)), ("cup", (10, 10, 20, 20)), ("dog", (70, 70, 100, 100)))
    judgement = judge(regions, "table")
    assert judgement.case == "several" and judgement.allowed
    assert judgement.removed == ("table", "cup") and judgement.kept == ("dog",)


def test_survivors_are_measured_against_everything_removed():
    regions = photo(("table", (0, 0, 50, 20)), ("cup", (0, 0, 60, 16)), ("fork", (50, 0, 70, 16)))
    judgement = judge(regions, "table")
    assert judgement.removed == ("table", "cup")  # 5/6 of the cup lies on the table, the rest covers half of the fork
    assert judgement.lost == {"fork": pytest.approx(0.5)} and "fork would lose 50%" in judgement.problems[0]


@pytest.mark.parametrize(
    ("share", "outcome"), [(0.39, "stays"), (0.4, "refused"), (0.6, "refused"), (0.8, "refused"), (0.81, "goes")]
)
def test_between_the_limits_is_refused(share, outcome):
    regions = photo(("dog", (0, 0, 100 * share, 10)), ("cat", (0, 0, 100, 10)), ("bird", (0, 50, 10, 60)))
    judgement = judge(regions, "dog")
    assert judgement.allowed == (outcome != "refused") and ("cat" in judgement.removed) == (outcome == "goes")


@pytest.mark.parametrize(("height", "allowed"), [(69, True), (70, False), (95, False)])
def test_size_limit(height, allowed):
    judgement = judge(photo(("bed", (0, 0, 100, height)), ("cat", (0, 96, 9, 100))), "bed")
    assert judgement.allowed == allowed
    assert allowed or f"{height}% of the image" in judgement.problems[0]


def test_one_class_and_nothing_left():
    assert "one class only" in judge(photo(("dog", (0, 0, 9, 9)), ("dog", (20, 0, 30, 9))), "dog").problems[0]
    assert "no object is left" in judge(photo(("bed", (0, 0, 50, 50)), ("cat", (0, 0, 9, 9))), "bed").problems[0]
    with pytest.raises(UserError, match="no objects"):
        judge(photo(), "dog")


def test_unions_count_once():
    regions = photo(("dog", (0, 0, 20, 20)), ("dog", (10, 0, 30, 20)), ("cat", (0, 0, 60, 20)))
    assert judge(regions, "dog").lost == {"cat": pytest.approx(0.5)}


def test_the_choice_is_seeded_and_even():
    regions = photo(("dog", (0, 0, 9, 9)), ("cat", (20, 0, 29, 9)), ("bed", (40, 0, 99, 99)))
    picks = [choose(regions, seed).chosen for seed in range(600)]
    assert picks == [choose(regions, seed).chosen for seed in range(600)]
    assert all(150 < picks.count(name) < 250 for name in ("dog", "cat", "bed"))
    assert choose(photo(("dog", (0, 0, 9, 9))), 0) is None
    assert len(judge_all(regions)) == 3


boxes = st.tuples(*[st.integers(-5, 45)] * 4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), boxes), min_size=1, max_size=7))
def test_boxes_and_masks_agree_with_counted_pixels(objects):
    clean = clean_boxes([box for _, box in objects], 40, 30)
    names = [objects[place][0] for place in clean.kept]
    assert clean.dropped == len(objects) - len(names)
    if not names:
        return
    masks = [pixel_mask([box], 40, 30) for box in clean.boxes]
    by_box, by_mask = Regions.of_boxes(clean.boxes, names, 40, 30), Regions.of_masks(masks, names)
    for name in set(names):
        count = np.any([mask for mask, own in zip(masks, names, strict=True) if own == name], axis=0).sum()
        assert by_box.pixels(by_box.cells[name]) == pytest.approx(count)
    for one, other in zip(judge_all(by_box), judge_all(by_mask), strict=True):
        assert one.removed == other.removed and one.share == pytest.approx(other.share)


def test_boxes_that_cannot_be_used_are_dropped_and_counted():
    wrong = [(200, 0, 300, 9), (4, 4, 4, 9), (float("nan"), 0, 1, 1), (0, 0, float("inf"), 9), (1, 2, 3)]
    clean = clean_boxes([(9, 9, 1, 1), (-5, -5, 3, 3), *wrong], 100, 50)
    assert clean.boxes == ((1, 1, 9, 9), (0, 0, 3, 3)) and clean.kept == (0, 1) and clean.dropped == 5


def test_masks_are_checked():
    with pytest.raises(UserError, match="one shape"):
        Regions.of_masks([np.ones((2, 3), bool), np.ones((3, 2), bool)], ["a", "b"])
    with pytest.raises(UserError, match="One class name per box"):
        Regions.of_boxes([(0, 0, 1, 1)], [], 4, 4)
    assert Regions.of_masks([np.zeros((2, 2), bool)], ["a"]).classes == ()
