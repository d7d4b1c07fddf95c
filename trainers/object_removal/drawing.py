"""Regions that are drawn on an image: boxes, and strokes of a round brush, all in fractions of the image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from trainers.errors import DataError
from trainers.object_removal.regions import Box, clean_boxes, pixel_mask
from trainers.values import is_number

MOST_POINTS = 4000
"""Points of all strokes together; more are thinned evenly."""


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """One line of a round brush.

    Attributes:
        radius: of the brush, as a fraction of the longer side.
        points: [x, y] each; as they are given anything may stand among them.
    """

    radius: float
    points: Sequence[Any]


@dataclass(frozen=True, kw_only=True)
class DrawnRegions:
    """Boxes (x0, y0, x1, y1) and strokes that can be used, and notes about those that cannot."""

    boxes: tuple[Box, ...] = ()
    strokes: tuple[Stroke, ...] = ()
    notes: tuple[str, ...] = ()

    def mask(self, width: int, height: int) -> np.ndarray:
        """Return the pixels that it covers, bool ``[height, width]``."""
        scaled = [(x0 * width, y0 * height, x1 * width, y1 * height) for x0, y0, x1, y1 in self.boxes]
        covered = pixel_mask(scaled, width, height)
        if self.strokes:
            covered |= _brushed(self.strokes, width, height)
        return covered


def read_drawing(corners: Sequence[Sequence[float]] = (), strokes: Sequence[Stroke] = ()) -> DrawnRegions:
    """Read boxes and strokes as they are given.

    Args:
        corners: as in :func:`read_boxes`.

    Raises:
        DataError: nothing has an area inside the image.
    """
    boxes, notes = read_boxes(corners)
    kept, said = _read_strokes(strokes)
    notes = (*notes, *said)
    if not boxes and not kept:
        reasons = " ".join(notes)
        raise DataError(f"Nothing that was drawn has an area inside the image. {reasons} Draw over the object again.")
    return DrawnRegions(boxes=boxes, strokes=kept, notes=notes)


def read_boxes(corners: Sequence[Sequence[float]]) -> tuple[tuple[Box, ...], tuple[str, ...]]:
    """Read boxes: corners sorted, cut to the image; those without an area or with odd corners are dropped and counted.

    Args:
        corners: x0, y0, x1, y1 as fractions; NaN for what is no number.
    """
    clean = clean_boxes(corners, 1, 1)
    return clean.boxes, dropped_note(clean.dropped)


def dropped_note(boxes: int) -> tuple[str, ...]:
    """Say how many boxes were left out; empty if none was."""
    if not boxes:
        return ()
    what, was = ("1 box has", "was") if boxes == 1 else (f"{boxes} boxes have", "were")
    return (f"{what} no area inside the image and {was} left out.",)


def _read_strokes(asked: Sequence[Stroke]) -> tuple[tuple[Stroke, ...], tuple[str, ...]]:
    kept, dropped, notes = [], 0, []
    for each in asked:
        points = _points(each.points)
        dropped += len(each.points) - len(points)
        if points and math.isfinite(each.radius) and each.radius > 0:
            kept.append(replace(each, radius=min(each.radius, 0.5), points=points))
        else:
            dropped += len(points)
    total = sum(len(stroke.points) for stroke in kept)
    if total > MOST_POINTS:
        step = math.ceil(total / MOST_POINTS)
        kept = [replace(thinned, points=[*thinned.points[::step], thinned.points[-1]]) for thinned in kept]
        notes.append(f"{total:,} points were drawn; 1 in {step} is used.")
    if dropped:
        what = "1 point of a stroke" if dropped == 1 else f"{dropped:,} points of strokes"
        notes.append(f"{what} could not be used.")
    return tuple(kept), tuple(notes)


def _points(values: Sequence[object]) -> list[tuple[float, float]]:
    """Return points [x, y] with finite coordinates, brought near the image."""
    pairs = [value for value in values if isinstance(value, list) and len(value) == 2 and all(map(is_number, value))]
    return [(min(max(float(x), -1.0), 2.0), min(max(float(y), -1.0), 2.0)) for x, y in pairs]


def _brushed(strokes: Sequence[Stroke], width: int, height: int) -> np.ndarray:
    """Draw discs at every point, joined by bands of the same width."""
    canvas = Image.new("1", (width, height))
    draw = ImageDraw.Draw(canvas)
    for stroke in strokes:
        radius = max(0.5, stroke.radius * max(width, height))
        points = _spaced([(x * width, y * height) for x, y in stroke.points], max(1.0, radius / 4))
        for x, y in points:
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=1)
        if len(points) > 1:
            draw.line(points, fill=1, width=max(1, round(2 * radius)), joint="curve")
    return np.array(canvas, dtype=bool)


def _spaced(points: Sequence[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """Leave out points that are hardly away from the one before; a big brush would paint the same pixels again."""
    kept = [points[0]]
    for point in points[1:]:
        if math.dist(point, kept[-1]) >= least:
            kept.append(point)
    return kept if len(points) == 1 or kept[-1] == points[-1] else [*kept, points[-1]]
