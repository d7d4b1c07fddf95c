"""Colours and figures from plain numbers."""

from __future__ import annotations

import re

import numpy as np

from explorer.exports import figures
from explorer.exports.palette import GREY, MAX_HUES, oklch, palette


def _labels(coarse: int, children: int) -> np.ndarray:
    fine = np.repeat(np.arange(coarse * children), 3)
    return np.stack([fine, fine // children], axis=1)


def test_known_colours() -> None:
    assert oklch(1.0, 0.0, 0.0) == "#ffffff" and oklch(0.0, 0.0, 0.0) == "#000000"
    assert oklch(0.627955, 0.257683, 29.2339) == "#ff0000"


def test_impossible_colours_lose_chroma() -> None:
    assert re.fullmatch("#[0-9a-f]{6}", oklch(0.95, 0.4, 260))


def test_every_class_has_its_own_colour() -> None:
    found = palette(_labels(5, 4))
    assert found.level == 1 and len(found.families) == 5
    assert len(set(found.colours.values())) == 20 == len(found.colours)


def test_beyond_twelve_families_are_grey() -> None:
    labels = np.concatenate([_labels(20, 2), _labels(MAX_HUES, 2)])
    found = palette(labels)
    assert sorted(found.families) == list(range(MAX_HUES))
    assert all((colour == GREY) == (label // 2 >= MAX_HUES) for label, colour in found.colours.items())


def test_one_level_is_its_own_family() -> None:
    found = palette(np.array([[0], [1], [1], [2]]))
    assert found.level == 0 and found.families == (1, 0, 2)


def test_a_coarser_level_is_taken_when_there_are_many() -> None:
    fine = np.arange(60)
    assert palette(np.stack([fine, fine // 2, fine // 20], axis=1)).level == 2


def test_replay_has_a_trace_per_arm_and_family_and_a_frame_per_step() -> None:
    labels = _labels(20, 1)
    xy = np.random.default_rng(0).normal(size=(4, 2, len(labels), 2)).astype(np.float32)
    names = [[f"<b>{i}</b>" for i in range(20)]] * 2
    figure = figures.replay(figures.MapSeries(titles=["a", "b"], steps=[0, 1, 2, 3], xy=xy, labels=labels, names=names))
    assert len(figure.data) == 2 * (MAX_HUES + 1) and len(figure.frames) == 4
    assert sum(len(trace.x) for trace in figure.data) == 2 * len(labels)
    assert figure.data[MAX_HUES].name == "8 others"
    assert "<b>" not in figure.data[0].name and "<b>" not in figure.data[0].text[0]
    low, high = figure.layout.xaxis.range
    assert low == -high and high > np.abs(xy).max()


def test_curves_leave_out_arms_without_values() -> None:
    figure = figures.curves(
        {"Loss": [([0, 1], [1.0, 0.5]), ([], [])], "H-AP": [([1], [0.2]), ([1], [0.3])]}, ["a", "b"]
    )
    assert [(trace.name, trace.mode, trace.showlegend) for trace in figure.data] == [
        ("a", "lines", True),
        ("a", "markers", False),
        ("b", "markers", True),
    ]
    assert figures.curves({}, []).layout.height > 0
