"""Colours and figures from plain numbers; the colours of the arms, readable in both themes and apart for every eye."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from explorer.exports import figures
from explorer.page.theme import theme
from explorer.settings import ASSETS
from trainers.config import MAX_ARMS
from trainers.pictures.palette import ARM_COLOURS, DARK, LIGHT, MAX_FAMILIES, Mode, class_colours, oklch, palette


def _labels(coarse: int, children: int) -> np.ndarray:
    fine = np.repeat(np.arange(coarse * children), 3)
    return np.stack([fine, fine // children], axis=1)


def test_known_colours() -> None:
    lightness, chroma, hue = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.627955, 0.257683, 29.2339]]).T
    assert oklch(lightness, chroma, hue) == ["#ffffff", "#000000", "#ff0000"]
    (impossible,) = oklch(np.array([0.95]), np.array([0.4]), np.array([260.0]))
    assert re.fullmatch("#[0-9a-f]{6}", impossible), "it loses chroma"


def test_every_class_has_its_own_colour_in_that_of_its_family() -> None:
    found = palette(_labels(5, 4))
    assert found.level == 1 and len(found.families) == 5
    assert len(set(found.colours.values())) == 20 == len(found.colours)
    single = palette(np.array([[0], [1], [1], [2]]))
    assert single.level == 0 and single.families == (1, 0, 2), "one level is its own family"
    fine = np.arange(60)
    assert palette(np.stack([fine, fine // 2, fine // 20], axis=1)).level == 2, "of many, a coarser level"


def test_beyond_twenty_four_families_are_grey() -> None:
    labels = np.concatenate([_labels(40, 2), _labels(MAX_FAMILIES, 2)])
    colours = palette(labels)
    assert sorted(colours.families) == list(range(MAX_FAMILIES))
    assert all((colour == LIGHT.grey) == (label // 2 >= MAX_FAMILIES) for label, colour in colours.colours.items())


@pytest.mark.parametrize("mode", [LIGHT, DARK])
def test_two_dozen_classes_of_one_level_are_told_apart(mode: Mode) -> None:
    colours = list(palette(np.arange(MAX_FAMILIES)[:, None], mode=mode).colours.values())
    rgb = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (*colours, mode.grey)])
    apart = np.linalg.norm(rgb[:, None] - rgb[None], axis=2)
    assert apart[~np.eye(len(rgb), dtype=bool)].min() > 20


def test_a_class_has_its_colour_at_every_level_and_in_both_modes() -> None:
    """Those beyond two dozen families are grey, and have a colour of their own once they are chosen."""
    labels = np.concatenate([_labels(40, 2), _labels(MAX_FAMILIES, 2)])
    for level in (0, 1):
        both = class_colours(labels, level)
        assert set(both["light"]) == set(both["dark"]) == set(np.unique(labels[:, level]).tolist())
        assert both["light"] != both["dark"]
    grey = {id for id, colours in class_colours(labels)["light"].items() if len(colours) == 2}
    assert grey == set(range(2 * MAX_FAMILIES, 80))
    assert all(colours[0] != colours[-1] for colours in (class_colours(labels)["dark"][id] for id in grey))


def test_replay_has_a_trace_per_arm_and_family_and_a_frame_per_step() -> None:
    labels = _labels(32, 1)
    xy = np.random.default_rng(0).normal(size=(4, 2, len(labels), 2)).astype(np.float32)
    names = [[f"<b>{i}</b>" for i in range(32)]] * 2
    figure = figures.replay(
        figures.MapSeries(titles=["a", "<b>"], steps=[0, 1, 2, 3], xy=xy, labels=labels, names=names)
    )
    assert len(figure.data) == 2 * (MAX_FAMILIES + 1) and len(figure.frames) == 4
    assert sum(len(trace.x) for trace in figure.data) == 2 * len(labels)
    assert figure.data[MAX_FAMILIES].name == "8 others"
    assert "<b>" not in figure.data[0].name and "<b>" not in figure.data[0].text[0]
    assert [title.text for title in figure.layout.annotations] == ["a", "&lt;b&gt;"]
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


# ---------------------------------------------------------------------------- arms


SHEET = (ASSETS / "common" / "tokens.css").read_text(encoding="utf-8")
PAIRS = re.findall(r"--rs-arm-[0-9]+: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", SHEET)
# G. M. Machado et al., "A physiologically-based model for simulation of color vision deficiency", 2009: severity 1
SEEN = {
    "all": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# B. Ottosson, "A perceptual color space for image processing", 2020
LMS = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip
APART = 0.09  # in OKLab, where black and white are 1 apart


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG 2.1 defines it."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_every_arm_has_a_colour_on_the_page_and_in_figures() -> None:
    assert len(PAIRS) == MAX_ARMS
    assert tuple(light for light, _ in PAIRS) == ARM_COLOURS
    rules = (ASSETS / "common" / "base.css").read_text(encoding="utf-8")
    assert all(f".rs-ink-{arm} {{\n  --rs-own: var(--rs-arm-{arm});\n}}" in rules for arm in range(MAX_ARMS))


@pytest.mark.parametrize("dark", [False, True])
def test_they_can_be_read(dark: bool) -> None:
    suffix = "_dark" if dark else ""
    page = [getattr(theme(), f"{name}{suffix}") for name in ("body_background_fill", "background_fill_primary")]
    for colours in PAIRS:
        assert min(contrast(colours[dark], surface) for surface in page) >= 4.5, colours


@pytest.mark.parametrize("seen", list(SEEN))
@pytest.mark.parametrize("dark", [False, True])
def test_they_are_told_apart(dark: bool, seen: str) -> None:
    shown = [LAB @ np.cbrt(LMS @ np.clip(SEEN[seen] @ linear(colours[dark]), 0, 1)) for colours in PAIRS]
    distances = [float(np.linalg.norm(one - other)) for one, other in itertools.combinations(shown, 2)]
    assert min(distances) >= APART
