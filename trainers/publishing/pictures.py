"""The picture of a model card: the last map of an arm, and its main number while it trained."""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from trainers.kinds import kind_of
from trainers.runs import RunFolder

Font = ImageFont.ImageFont | ImageFont.FreeTypeFont
NAME = "picture.png"
_SIDE, _GAP, _TITLE = 1040, 90, 90  # pixels, at twice the size at which it is drawn
_INK, _LINE = "#3d4250", "#d9dce3"
_HUE_STEP = 137.5 / 360  # the golden angle: neighbours in a list have hues far apart


def write_picture(folder: RunFolder, arm: int, to: Path) -> str:
    """Write a PNG, and return in a sentence what it shows; empty: the run has no map, and nothing is written."""
    newest, probe = folder.newest_map(), folder.probe()
    if newest is None or probe is None:
        return ""
    shown = (folder.refined_frame() or (newest, 0))[0]
    frame, labels = folder.frame(shown), np.asarray(probe.labels)[:, -1]
    image = Image.new("RGB", (2 * _SIDE + 3 * _GAP, _SIDE + _TITLE + _GAP), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(38)
    level = probe.hierarchy.levels[-1] if probe.hierarchy.levels else "class"
    method = frame.arms[arm].method.upper()
    draw.text((_GAP, 26), f"{method} of {len(labels):,} images at step {frame.step:,}, coloured by {level}", _INK, font)
    _map(draw, np.asarray(frame.arms[arm].xy, dtype=float), labels)
    title, points = _curve(folder, arm)
    if points:
        draw.text((_SIDE + 2 * _GAP, 26), f"{title} of these images, by step", _INK, font)
        _line(draw, points, font)
    image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS).save(to / NAME, optimize=True)
    about = f" and {title} at every map, up to step {points[-1][0]:,}" if points else ""
    return f"Map of {len(labels):,} images ({method}) coloured by {level}{about}"


def _map(draw: ImageDraw.ImageDraw, xy: np.ndarray, labels: np.ndarray) -> None:
    low, high = xy.min(0), xy.max(0)
    scaled = (xy - (low + high) / 2) / max(float((high - low).max()), 1.0)
    radius = float(np.clip(260 / np.sqrt(len(xy)), 3, 10))
    for order in np.random.default_rng(0).permutation(len(xy)):  # no class covers the others
        x = _GAP + _SIDE * (0.5 + 0.96 * scaled[order, 0])
        y = _TITLE + _SIDE * (0.5 - 0.96 * scaled[order, 1])
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), _colour(int(labels[order])))


def _colour(label: int) -> tuple[int, int, int]:
    red, green, blue = colorsys.hls_to_rgb(label * _HUE_STEP % 1.0, 0.36 if label % 2 else 0.5, 0.62)
    return round(255 * red), round(255 * green), round(255 * blue)


def _curve(folder: RunFolder, arm: int) -> tuple[str, list[tuple[int, float]]]:
    """Return the title and the values by step of the first number in the list of runs."""
    measures = kind_of(folder.config).measures_of(folder.config)
    rows = [row for row in folder.scalars() if row.arm == arm]
    for key in measures.numbers:
        points = sorted((row.step, row.value) for row in rows if row.key == key)
        if len(points) > 1:
            return measures.describe(key).title, points
    return "", []


def _line(draw: ImageDraw.ImageDraw, points: list[tuple[int, float]], font: Font) -> None:
    values = [value for _, value in points]
    low, high, last = min(0.0, *values), max(1.0, *values), points[-1][0]
    left, top = _SIDE + 2 * _GAP + 90, _TITLE + 20
    width, height = _SIDE - 90, _SIDE - 100

    def at(step: float, value: float) -> tuple[float, float]:
        return left + width * step / max(1, last), top + height * (high - value) / (high - low)

    for value in np.linspace(low, high, 6):
        x, y = at(0, float(value))
        draw.line((x, y, x + width, y), _LINE, 2)
        draw.text((x - 20, y), f"{value:.1f}", _INK, font, anchor="rm")
    for step in (0, last):
        draw.text((at(step, low)[0], top + height + 20), f"{step:,}", _INK, font, anchor="ma")
    draw.line([at(*point) for point in points], "#1f4e9e", 7, joint="curve")
