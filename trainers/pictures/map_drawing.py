"""Draws the maps of a run at one moment into pixels: for a picture, and for every frame of a film."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from trainers.pictures.palette import ARM_COLOURS, palette

_INK, _QUIET, _RAIL = "#14161d", "#5b6070", "#e2e3ea"
_SHIFT = 4  # bits of a pixel's fraction that OpenCV draws circles at


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What is drawn.

    Attributes:
        xy: float ``[A, P, 2]``, the maps, within -1 .. 1.
        words: below the maps, such as the step.
        numbers: a line below each map's title.
        share: how much of the run has passed, 0 to 1; None: no rail is drawn.
    """

    xy: np.ndarray
    words: str
    numbers: Sequence[str]
    share: float | None = None


class MapDrawing:
    """Draws moments of one run.

    Args:
        titles: of the maps.
        heading: above them.
        labels: integers ``[P, L]``, finest first; they give the colours.
        width, height: of the picture in pixels.
    """

    def __init__(self, titles: Sequence[str], heading: str, labels: np.ndarray, width: int, height: int) -> None:
        self._titles = titles
        self._heading = heading
        self._width, self._height = width, height
        colours = palette(labels).colours
        self._colours = [ImageColor.getrgb(colours[label]) for label in labels[:, 0].tolist()]
        self._order = np.random.default_rng(0).permutation(len(labels))  # no class covers the others
        self._em = max(height, width * 9 // 16) / 40
        self._fonts = [ImageFont.load_default(self._em * size) for size in (1.2, 1.1, 0.95)]
        self._columns = _columns(len(titles), width, height)

    def draw(self, moment: Moment) -> np.ndarray:
        """Return the picture as uint8 RGB ``[height, width, 3]``."""
        pixels = np.array(self._written(moment))
        for arm, xy in enumerate(moment.xy):
            if not np.isfinite(xy).all():  # of a loss that diverged
                continue
            left, top, side = self._box(arm)
            self._points(pixels, xy, left + side / 2, top + side / 2, side / 2)
        return pixels

    def _points(self, pixels: np.ndarray, xy: np.ndarray, x: float, y: float, half: float) -> None:
        at = np.rint((np.array([x, y]) + xy * np.array([half, -half])) * 2**_SHIFT).astype(int)
        radius = round(float(np.clip(half / 2.6 / math.sqrt(max(len(xy), 1)), half / 160, half / 30)) * 2**_SHIFT)
        for point in self._order.tolist():
            cv2.circle(pixels, at[point].tolist(), radius, self._colours[point], -1, cv2.LINE_AA, _SHIFT)

    def _box(self, arm: int) -> tuple[float, float, float]:
        """Return left, top and side of a map."""
        rows = -(-len(self._titles) // self._columns)
        head, foot, title = 3.2 * self._em, 3.2 * self._em, 3.6 * self._em
        wide, high = self._width / self._columns, (self._height - head - foot) / rows
        side = min(wide - self._em, high - title)
        row, column = divmod(arm, self._columns)
        return column * wide + (wide - side) / 2, head + row * high + title + (high - title - side) / 2, side

    def _written(self, moment: Moment) -> Image.Image:
        """Return the picture without points."""
        image = Image.new("RGB", (self._width, self._height), "white")
        draw, em, fonts = ImageDraw.Draw(image), self._em, self._fonts
        draw.text((em, em), _fitted(draw, self._heading, fonts[0], self._width - 2 * em), _INK, fonts[0])
        for arm, title in enumerate(self._titles):
            left, top, side = self._box(arm)
            line = top - 3.2 * em
            draw.rounded_rectangle((left, line + 0.15 * em, left + 0.7 * em, line + 0.95 * em), em / 5, _of(arm))
            draw.text((left + em, line), _fitted(draw, title, fonts[1], side - em), _INK, fonts[1])
            numbers = _fitted(draw, moment.numbers[arm], fonts[2], side - em)
            draw.text((left + em, line + 1.4 * em), numbers, _QUIET, fonts[2])
        foot = self._height - 1.9 * em
        draw.text((em, foot - 0.4 * em), moment.words, _QUIET, fonts[2])
        if moment.share is not None:
            rail = (em, self._height - 0.7 * em, self._width - em, self._height - 0.5 * em)
            draw.rounded_rectangle(rail, em / 10, _RAIL)
            end = em + (self._width - 2 * em) * moment.share
            draw.rounded_rectangle((rail[0], rail[1], max(end, em * 1.2), rail[3]), em / 10, _of(0))
        return image


def _columns(count: int, width: int, height: int) -> int:
    """Return how many maps stand side by side: as many as make them largest."""
    return max(range(1, count + 1), key=lambda side: min(width / side, height * 0.75 / -(-count // side)))


def _of(arm: int) -> str:
    return ARM_COLOURS[arm % len(ARM_COLOURS)]


def _fitted(
    draw: ImageDraw.ImageDraw, text: str, font: ImageFont.ImageFont | ImageFont.FreeTypeFont, most: float
) -> str:
    """Write a text on one line, and shorten it to a width in pixels."""
    text = " ".join(text.split())
    if draw.textlength(text, font) <= most:
        return text
    while text and draw.textlength(f"{text}…", font) > most:
        text = text[:-1]
    return f"{text}…"
