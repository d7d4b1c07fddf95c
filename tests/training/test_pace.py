"""When frames come: with the motion of the embeddings, and never at the expense of training."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from trainers.training.stage import CLOSEST_SECONDS, FIRST_FRAMES, MOST_SHARE, STRIDE, USUAL_SHARE, WIDEST_SECONDS, Pace


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
