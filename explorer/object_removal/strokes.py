"""What a visitor drew on a photo, as pixels: boxes, and strokes of a round brush. All in fractions of the photo."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from explorer.object_removal.fields import Fields, number
from explorer.server.http import RequestError
from trainers.object_removal.regions import clean_boxes, pixel_mask

MOST_BOXES = 200
MOST_STROKES = 200
MOST_POINTS = 4000
"""Points of all strokes together; more are thinned evenly."""


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """One line of a round brush.

    Attributes:
        radius: as a fraction of the photo's longer side.
        points: fractions of width and height.
    """

    radius: float
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Boxes (x0, y0, x1, y1) and strokes that can be used, and sentences about those that cannot."""

    boxes: tuple[tuple[float, float, float, float], ...] = ()
    strokes: tuple[Stroke, ...] = ()
    notes: tuple[str, ...] = ()

    def mask(self, width: int, height: int) -> np.ndarray:
        """The pixels that it covers, bool ``[height, width]``."""
        scaled = [(x0 * width, y0 * height, x1 * width, y1 * height) for x0, y0, x1, y1 in self.boxes]
        covered = pixel_mask(scaled, width, height)
        if self.strokes:
            covered |= _brushed(self.strokes, width, height)
        return covered


def read_drawing(fields: Fields) -> Drawing:
    """Boxes or strokes of a request.

    Raises:
        RequestError: neither is there, nothing has an area inside the photo, or the form is wrong.
    """
    if not fields.has("boxes") and not fields.has("strokes"):
        raise RequestError("A removal needs classes, boxes or strokes; none came. Choose an object or draw over one.")
    boxes, notes = read_boxes(fields.list("boxes", MOST_BOXES)) if fields.has("boxes") else ((), ())
    strokes: tuple[Stroke, ...] = ()
    if fields.has("strokes"):
        strokes, said = _read_strokes(fields)
        notes = (*notes, *said)
    if not boxes and not strokes:
        told = " ".join(notes)
        raise RequestError(f"Nothing that was drawn has an area inside the photo. {told} Draw over the object again.")
    return Drawing(boxes=boxes, strokes=strokes, notes=notes)


def read_boxes(values: Sequence[object]) -> tuple[tuple[tuple[float, float, float, float], ...], tuple[str, ...]]:
    """Boxes with sorted corners, cut to the photo; those without an area or with odd corners are dropped and counted.

    Raises:
        RequestError: an entry is no list of four.
    """
    corners = []
    for value in values:
        if not isinstance(value, list) or len(value) != 4:
            raise RequestError("A box needs four fractions x0, y0, x1, y1; something else came.")
        corners.append([number(corner) for corner in value])
    clean = clean_boxes(corners, 1, 1)
    notes = ()
    if clean.dropped:
        what = "1 box has" if clean.dropped == 1 else f"{clean.dropped} boxes have"
        notes = (f"{what} no area inside the photo and was left out.",)
    return clean.boxes, notes


def _read_strokes(fields: Fields) -> tuple[tuple[Stroke, ...], tuple[str, ...]]:
    found, dropped, notes = [], 0, []
    for each in fields.inners("strokes", MOST_STROKES):
        radius = number(each.plain("radius"))
        points, lost = _points(each.plain("points"))
        dropped += lost
        if points and math.isfinite(radius) and radius > 0:
            found.append(Stroke(radius=min(radius, 0.5), points=points))
        else:
            dropped += len(points)
    total = sum(len(stroke.points) for stroke in found)
    if total > MOST_POINTS:
        step = math.ceil(total / MOST_POINTS)
        found = [Stroke(radius=one.radius, points=(*one.points[::step], one.points[-1])) for one in found]
        notes.append(f"{total:,} points were drawn; 1 in {step} is used.")
    if dropped:
        what = "1 point of a stroke" if dropped == 1 else f"{dropped:,} points of strokes"
        notes.append(f"{what} could not be used.")
    return tuple(found), tuple(notes)


def _points(values: object) -> tuple[tuple[tuple[float, float], ...], int]:
    """Points with finite coordinates, brought near the photo, and how many were left out."""
    if not isinstance(values, list):
        raise RequestError("A stroke needs a list of points [x, y]; something else came.")
    found = []
    for value in values:
        if not isinstance(value, list) or len(value) != 2:
            continue
        x, y = number(value[0]), number(value[1])
        if math.isfinite(x) and math.isfinite(y):
            found.append((min(max(x, -1.0), 2.0), min(max(y, -1.0), 2.0)))
    return tuple(found), len(values) - len(found)


def _brushed(strokes: Sequence[Stroke], width: int, height: int) -> np.ndarray:
    """Discs at every point, joined by bands of the same width."""
    canvas = Image.new("1", (width, height))
    draw = ImageDraw.Draw(canvas)
    for stroke in strokes:
        radius = max(0.5, stroke.radius * max(width, height))
        places = _spaced([(x * width, y * height) for x, y in stroke.points], max(1.0, radius / 4))
        for x, y in places:
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=1)
        if len(places) > 1:
            draw.line(places, fill=1, width=max(1, round(2 * radius)), joint="curve")
    return np.array(canvas, dtype=bool)


def _spaced(places: Sequence[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """Without points that are hardly away from the one before; a big brush would paint the same pixels again."""
    kept = [places[0]]
    for place in places[1:]:
        if math.dist(place, kept[-1]) >= least:
            kept.append(place)
    return kept if len(places) == 1 or kept[-1] == places[-1] else [*kept, places[-1]]
