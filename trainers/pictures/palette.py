"""Colours: one per arm; for classes hue by family and lightness by member, in OKLCH so that steps look even."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from trainers import ASSETS

_SHEET = (ASSETS / "common" / "tokens.css").read_text(encoding="utf-8")
TOKENS: dict[str, str] = dict(re.findall(r"(--rs-[a-z0-9-]+): light-dark\((#[0-9a-f]{6})", _SHEET))
"""The tokens of the page with their colours in light."""
ARM_COLOURS = tuple(colour for name, colour in TOKENS.items() if name.startswith("--rs-arm-"))
MAX_HUES = 12
MAX_FAMILIES = 2 * MAX_HUES
"""The second dozen has darker colours, of the hues between those of the first."""
_GOLDEN_ANGLE = 137.5  # degrees; hues of neighbours in a list lie far apart


@dataclass(frozen=True, kw_only=True)
class Mode:
    """The colours that differ between a light and a dark page.

    Attributes:
        grey: of classes without a hue.
        lightness: of the first and the last member of a family; ``darker``: of one of the second dozen.
        chroma: of the members of a family.
        chosen: lightness of a class without a hue once it is chosen.
    """

    grey: str
    lightness: tuple[float, float]
    darker: tuple[float, float]
    chroma: float
    chosen: float


LIGHT = Mode(grey="#969aa6", lightness=(0.45, 0.72), darker=(0.36, 0.48), chroma=0.155, chosen=0.55)
DARK = Mode(grey="#686e7c", lightness=(0.6, 0.86), darker=(0.46, 0.6), chroma=0.14, chosen=0.78)


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Colours of the classes of a level by family.

    Attributes:
        level: the level whose classes are the families: the finest above that of the classes that has at most twelve
            in use.
        families: ids of the coloured families, the ones with most points first.
        colours: class to colour; classes of other families are grey.
    """

    level: int
    families: tuple[int, ...]
    colours: dict[int, str]


def palette(labels: np.ndarray, level: int = 0, mode: Mode = LIGHT) -> Palette:
    """Choose colours: families share a hue; members of a family differ in lightness and a little in hue.

    Args:
        labels: integers ``[P, L]``, finest first.
        level: whose classes are coloured.
    """
    depth = labels.shape[1]
    up = min(level + 1, depth - 1)
    while up < depth - 1 and len(np.unique(labels[:, up])) > MAX_HUES:
        up += 1
    families, counts = np.unique(labels[:, up], return_counts=True)
    shown = families[np.argsort(-counts, kind="stable")][:MAX_FAMILIES].tolist()
    colours = dict.fromkeys(np.unique(labels[:, level]).tolist(), mode.grey)
    hues = min(len(shown), MAX_HUES)
    for round, lightness in enumerate((mode.lightness, mode.darker)):
        for index, family in enumerate(sorted(shown[round * MAX_HUES :][:MAX_HUES])):
            members = np.unique(labels[labels[:, up] == family, level])
            hue = 28 + 360 * (index + round / 2) / hues
            painted = _paint(len(members), hue, min(300 / hues, 84), lightness, mode.chroma)
            colours |= dict(zip(members.tolist(), painted, strict=True))
    return Palette(level=up, families=tuple(shown), colours=colours)


def class_colours(labels: np.ndarray, level: int = 0) -> dict[str, dict[int, list[str]]]:
    """Return for a light and for a dark page the colour of every class of a level that is in use.

    A class without a hue has two: grey, and the one it gets when it is chosen.
    """
    colours: dict[str, dict[int, list[str]]] = {}
    for name, mode in (("light", LIGHT), ("dark", DARK)):
        plain = palette(labels, level, mode).colours
        ids = np.array(list(plain))
        chosen = oklch(np.full(len(ids), mode.chosen), np.full(len(ids), 0.15), ids * _GOLDEN_ANGLE % 360)
        both = zip(plain.items(), chosen, strict=True)
        colours[name] = {id: [grey, hue] if grey == mode.grey else [grey] for (id, grey), hue in both}
    return colours


def oklch(lightness: np.ndarray, chroma: np.ndarray, hue: np.ndarray) -> list[str]:
    """Convert OKLCH (hue in degrees) to ``#rrggbb``; chroma is reduced until the colour exists on a screen.

    Args:
        lightness, chroma, hue: floats ``[N]``.

    Source: B. Ottosson, "A perceptual color space for image processing", 2020.
    """
    chroma = chroma.copy()
    rgb = np.full((len(hue), 3), 128)
    left = np.arange(len(hue))
    while len(left):
        exact = _rgb(lightness[left], chroma[left], hue[left])
        exists = ((exact >= -0.001) & (exact <= 1.001)).all(axis=1)
        rgb[left[exists]] = np.rint(exact[exists].clip(0, 1) * 255)
        left = left[~exists]
        chroma[left] -= 0.01
        left = left[chroma[left] >= 0]
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in rgb.tolist()]


_CONES = np.array([[0.3963377774, 0.2158037573], [-0.1055613458, -0.0638541728], [-0.0894841775, -1.2914855480]])
_SCREEN = np.array([[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965],
                    [-0.0041960863, -0.7034186147, 1.7076147010]])  # fmt: skip


def _rgb(lightness: np.ndarray, chroma: np.ndarray, hue: np.ndarray) -> np.ndarray:
    """Return sRGB ``[N, 3]``, between 0 and 1 for colours that exist on a screen."""
    angle = np.radians(hue)
    ab = np.stack([chroma * np.cos(angle), chroma * np.sin(angle)], axis=1)
    linear = (lightness[:, None] + ab @ _CONES.T) ** 3 @ _SCREEN.T
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear.clip(0) ** (1 / 2.4) - 0.055)


def _paint(count: int, hue: float, sector: float, lightness: tuple[float, float], chroma: float) -> list[str]:
    along = np.array([0.45]) if count == 1 else np.linspace(0, 1, count)
    step = along
    if count > 3:  # two interleaved ramps: neighbours in the list differ more than members far apart
        step = along * 0.55 + np.where(np.arange(count) % 2, 0.45, 0)
    low, high = lightness
    return oklch(low + (high - low) * step, np.full(count, chroma), hue + (along - 0.5) * sector)
