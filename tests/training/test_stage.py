"""What a stage of training decides: when frames come, the rate of every step, and what it overrides."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.optimization import FLOOR, SCHEDULES
from trainers.training.stage import (
    CLOSEST_SECONDS,
    FIRST_FRAMES,
    MOST_SHARE,
    STRIDE,
    USUAL_SHARE,
    WIDEST_SECONDS,
    Pace,
    Stage,
)


def turned(angle: float, points: int = 5) -> Tensor:
    """Unit rows in the plane, all turned by ``angle``."""
    angles = torch.arange(points) + angle
    return torch.stack([angles.cos(), angles.sin()], 1)


def frames(pace: Pace, motions: list[float], *, cost: float = 0.0, first: int = 0, arms: int = 1) -> list[float]:
    """Let a map move by so much a second (mean 1 - cosine) and note when frames come, looking every 0.1 s."""
    times, last, angle, k = [0.0], 0.0, 0.0, first
    pace.add(k, 0.0, [turned(0.0)] * arms)
    for second, motion in enumerate(motions):
        for tenth in range(1, 11):
            now = second + tenth / 10
            angle += math.acos(1 - motion) / 10
            if pace.due(now - last, cost):
                k += 1
                pace.add(k, now, [turned(0.0)] * (arms - 1) + [turned(angle)])
                times.append(now)
                last = now
    return times


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


def test_the_first_frames_come_a_second_apart_however_still_the_map_is() -> None:
    times = frames(Pace(), [0.0] * 16)
    assert len([at for at in times if at <= 15]) >= 10
    assert max(gaps(times[:FIRST_FRAMES])) <= CLOSEST_SECONDS + 0.11


def test_a_fast_map_has_a_frame_a_second_and_a_still_one_waits_no_longer_than_it_may() -> None:
    fast = gaps(frames(Pace(), [2 * STRIDE] * 30, first=FIRST_FRAMES))
    assert max(fast) <= CLOSEST_SECONDS + 0.11
    still = gaps(frames(Pace(), [0.0] * 60, first=FIRST_FRAMES))
    assert max(still) == pytest.approx(WIDEST_SECONDS, abs=0.11) and still[-1] > WIDEST_SECONDS - 0.11
    between = gaps(frames(Pace(), [STRIDE / 8] * 60, first=FIRST_FRAMES))
    assert CLOSEST_SECONDS + 0.5 < between[-1] < WIDEST_SECONDS - 0.5


def test_a_map_that_moves_again_is_followed_again() -> None:
    times = frames(Pace(), [0.0] * 40 + [3 * STRIDE] * 20, first=FIRST_FRAMES)
    assert gaps(times)[-1] <= CLOSEST_SECONDS + 0.11


def test_the_arm_that_moves_most_decides() -> None:
    pace = Pace()
    frames(pace, [2 * STRIDE] * 20, first=FIRST_FRAMES, arms=3)
    assert pace.motion is not None and pace.motion > STRIDE and pace.seconds == CLOSEST_SECONDS


@pytest.mark.parametrize(("cost", "first", "least"), [(0.25, 0, 1.0), (0.5, 0, 0.5 * MOST_SHARE), (3.0, 0, 9.0)])
def test_a_look_takes_a_quarter_of_the_time_at_most(cost: float, first: int, least: float) -> None:
    assert min(gaps(frames(Pace(), [3 * STRIDE] * 40, cost=cost, first=first))) >= least - 1e-6


def test_after_the_first_frames_it_takes_less_unless_the_map_would_be_too_old() -> None:
    busy = [3 * STRIDE] * 40
    assert min(gaps(frames(Pace(), busy, cost=0.3, first=FIRST_FRAMES))) >= 0.3 * USUAL_SHARE - 1e-6
    assert max(gaps(frames(Pace(), busy, cost=1.0, first=FIRST_FRAMES))) <= WIDEST_SECONDS + 0.11


def factors(progress: list[float], step: int = 1000, **settings: object) -> list[float]:
    stage = Stage.of(MetricLearningConfig(), **settings)
    return [stage.factor(step, share, 10) for share in progress]


def test_the_default_is_a_warm_up_of_thirty_steps_and_a_half_cosine() -> None:
    stage = Stage.of(MetricLearningConfig())
    for step, progress in ((0, 0.0), (14, 0.1), (29, 0.3), (100, 0.5), (100, 1.0), (100, 1.7)):
        warm = min(1.0, (step + 1) / 30)
        by_hand = warm * max(0.02, 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
        assert stage.factor(step, progress, 10) == by_hand
    assert factors([0.0, 1 / 3, 0.5, 2 / 3, 1.0]) == pytest.approx([1, 0.75, 0.5, 0.25, FLOOR])


def test_steps_are_those_of_moco_and_constant_is_one() -> None:
    epochs = [0, 119, 120, 159, 160, 199]
    found = factors([epoch / 200 for epoch in epochs], schedule="step")
    assert found == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])
    assert factors([0.2, 0.3, 0.95], schedule="step", drops=(0.9, 0.25, 0.9)) == pytest.approx([1, 0.1, 0.001])
    assert factors([0.2, 0.95], schedule="step", drops=()) == [1, 1]
    assert factors([0.0, 0.5, 1.0], schedule="constant") == [1, 1, 1]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warm_up_comes_before_each(schedule: str) -> None:
    stage = Stage.of(MetricLearningConfig(), schedule=schedule, warm_up=4)
    assert [stage.factor(step, 0.0, 10) for step in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert Stage.of(MetricLearningConfig(), schedule=schedule, warm_up=0).factor(0, 0.0, 10) == 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_halving_replaces_schedule_and_warm_up(schedule: str) -> None:
    stage = Stage.of(MetricLearningConfig(halve_every=2.0), schedule=schedule)
    assert [stage.factor(step, 0.9, 10) for step in (0, 19, 20, 39, 40)] == [1, 1, 0.5, 0.5, 0.25]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_with_steps_the_clock_decides_no_rate(schedule: str) -> None:
    stage = Stage.of(MetricLearningConfig(steps=100, minutes=1.0), schedule=schedule)
    for step in (0, 1, 40, 70, 99):
        quick, slow = (stage.factor(step, stage.scheduled(step, seconds), 10) for seconds in (0.0, 59.0))
        assert quick == slow == stage.factor(step, step / 100, 10)
    assert stage.progress(40, 60.0) == 1.0  # the minutes still end the run
    timed = Stage.of(MetricLearningConfig(minutes=1.0), schedule=schedule)
    assert timed.scheduled(40, 30.0) == 0.5
