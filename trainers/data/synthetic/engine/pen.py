"""A pen that draws in the frame of one object, whatever the size of the image."""

from __future__ import annotations

from functools import lru_cache

from PIL import ImageDraw

from trainers.data.synthetic.engine.colour import Colour, shade

Point = tuple[float, float]
_STEPS = 6  # straight pieces between two points of a curve


class Pen:
    """Draws shapes given in the units of a frame.

    Args:
        draw: of the supersampled image.
        frame: x0, y0, x1, y1 in its pixels; the unit square lies on it.
        mirrored: left and right change places.
    """

    def __init__(self, draw: ImageDraw.ImageDraw, frame: tuple[float, float, float, float], mirrored: bool) -> None:
        self._draw = draw
        self._frame = frame
        self._mirrored = mirrored

    def poly(self, colour: Colour, *points: Point) -> None:
        """Draw a filled polygon."""
        self._draw.polygon([self._at(point) for point in points], fill=colour)

    def blob(self, colour: Colour, *points: Point) -> None:
        """Draw a filled closed curve through the points."""
        self._draw.polygon([self._at(point) for point in _smooth(points)], fill=colour)

    def leaf(self, colour: Colour, base: Point, tip: Point, width: float) -> None:
        """Draw a leaf with a lighter half; ``width`` in units of the frame."""
        along = tip[0] - base[0], tip[1] - base[1]
        length = (along[0] ** 2 + along[1] ** 2) ** 0.5
        middle = base[0] + 0.55 * along[0], base[1] + 0.55 * along[1]
        aside = -along[1] / length * width / 2, along[0] / length * width / 2
        sides = [(middle[0] + sign * aside[0], middle[1] + sign * aside[1]) for sign in (1, -1)]
        self.blob(colour, base, sides[0], tip, sides[1])
        self.blob(shade(colour, 1.18), base, sides[0], tip, middle)

    def oval(self, colour: Colour, x0: float, y0: float, x1: float, y1: float) -> None:
        """Draw a filled ellipse inside a rectangle."""
        self._draw.ellipse(self._rectangle(x0, y0, x1, y1), fill=colour)

    def rect(self, colour: Colour, x0: float, y0: float, x1: float, y1: float, round_by: float = 0.0) -> None:
        """Draw a filled rectangle; ``round_by`` is a share of its shorter side."""
        area = self._rectangle(x0, y0, x1, y1)
        radius = round_by * min(area[2] - area[0], area[3] - area[1])
        self._draw.rounded_rectangle(area, radius=radius, fill=colour)

    def line(self, colour: Colour, width: float, *points: Point) -> None:
        """Draw a line with round joints and ends; ``width`` is a share of the frame's height."""
        pixels = max(1.0, width * (self._frame[3] - self._frame[1]))
        vertices = [self._at(point) for point in points]
        self._draw.line(vertices, fill=colour, width=round(pixels), joint="curve")
        half = pixels / 2
        for x, y in (vertices[0], vertices[-1]) if half > 1.5 else ():  # thinner ends look the same
            self._draw.ellipse((x - half, y - half, x + half, y + half), fill=colour)

    def pie(self, colour: Colour, x0: float, y0: float, x1: float, y1: float, start: float, end: float) -> None:
        """Draw a slice of an ellipse, degrees clockwise from three o'clock."""
        if self._mirrored:
            start, end = 180 - end, 180 - start
        self._draw.pieslice(self._rectangle(x0, y0, x1, y1), start, end, fill=colour)

    def _at(self, point: Point) -> Point:
        x0, y0, x1, y1 = self._frame
        x = 1 - point[0] if self._mirrored else point[0]
        # Pillow counts from the middle of a pixel
        return x0 + x * (x1 - x0) - 0.5, y0 + point[1] * (y1 - y0) - 0.5

    def _rectangle(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        corners = self._at((x0, y0)), self._at((x1, y1))
        left, right = sorted((corners[0][0], corners[1][0]))
        return left, corners[0][1], right, corners[1][1]


@lru_cache(maxsize=512)
def _smooth(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Return a closed Catmull-Rom curve through the points."""
    count, curve = len(points), []
    for index in range(count):
        a, b, c, d = (points[(index + shift) % count] for shift in (-1, 0, 1, 2))
        for step in range(_STEPS):
            t = step / _STEPS
            weights = (
                -0.5 * t + t * t - 0.5 * t**3,
                1 - 2.5 * t * t + 1.5 * t**3,
                0.5 * t + 2 * t * t - 1.5 * t**3,
                -0.5 * t * t + 0.5 * t**3,
            )
            curve.append(
                tuple(sum(w * point[axis] for w, point in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
            )
    return tuple(curve)  # type: ignore[arg-type]
