"""The colours of the arms: one each, readable in both themes, and apart for every kind of colour blindness."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from explorer.exports.palette import ARM_COLOURS
from explorer.page.theme import theme
from explorer.settings import ASSETS
from trainers.config import MAX_ARMS

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
