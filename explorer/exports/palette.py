"""The page's colours for figures made on the server: those of ``assets/common/palette.js`` on a light page."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from explorer.settings import ASSETS

_SHEET = (ASSETS / "common" / "tokens.css").read_text(encoding="utf-8")
ARM_COLOURS = tuple(re.findall(r"--rs-arm-[0-9]+: light-dark\((#[0-9a-f]{6})", _SHEET))
MAX_HUES = 12
GREY = "#969aa6"


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Colours of the finest classes by family.

    Attributes:
        level: the level whose classes are the families: the finest above level 0 that has at most twelve in use.
        families: ids of the coloured families, the ones with most points first.
        colours: finest class to colour; classes of other families are grey.
    """

    level: int
    families: tuple[int, ...]
    colours: dict[int, str]


def palette(labels: np.ndarray) -> Palette:
    """Families share a hue; members of a family differ in lightness and a little in hue.

    Args:
        labels: integers ``[P, L]``, finest first.
    """
    depth = labels.shape[1]
    level = min(1, depth - 1)
    while level < depth - 1 and len(np.unique(labels[:, level])) > MAX_HUES:
        level += 1
    families, counts = np.unique(labels[:, level], return_counts=True)
    shown = families[np.argsort(-counts, kind="stable")][:MAX_HUES].tolist()
    colours = dict.fromkeys(np.unique(labels[:, 0]).tolist(), GREY)
    for place, family in enumerate(sorted(shown)):
        members = np.unique(labels[labels[:, level] == family, 0]).tolist()
        sector = min(300 / len(shown), 84)
        colours |= _paint(members, 28 + 360 * place / len(shown), sector)
    return Palette(level=level, families=tuple(shown), colours=colours)


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """OKLCH (hue in degrees) as ``#rrggbb``; chroma is reduced until the colour exists on a screen.

    Source: B. Ottosson, "A perceptual color space for image processing", 2020.
    """
    while chroma >= 0:
        rgb = _linear(lightness, chroma, hue)
        if all(-0.001 <= value <= 1.001 for value in rgb):
            return "#" + "".join(f"{round(min(1.0, max(0.0, value)) * 255):02x}" for value in rgb)
        chroma -= 0.01
    return "#808080"


def _linear(lightness: float, chroma: float, hue: float) -> list[float]:
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return [12.92 * x if x <= 0.0031308 else 1.055 * max(x, 0.0) ** (1 / 2.4) - 0.055 for x in linear]


def _paint(members: list[int], hue: float, sector: float) -> dict[int, str]:
    low, high, count = 0.45, 0.72, len(members)
    colours: dict[int, str] = {}
    for place, member in enumerate(members):
        along = 0.45 if count == 1 else place / (count - 1)
        step = along
        if count > 3:  # two interleaved ramps: neighbours in the list differ more than members far apart
            step = along * 0.55 if place % 2 == 0 else 0.45 + along * 0.55
        colours[member] = oklch(low + (high - low) * step, 0.155, hue + (along - 0.5) * sector)
    return colours
