"""A pen that draws in the unit square of one object's box, whatever the size of the picture."""

from __future__ import annotations

from PIL import ImageDraw

Colour = tuple[int, int, int]
Point = tuple[float, float]


def shade(colour: Colour, factor: float) -> Colour:
    """Darker below 1, nearer to white above."""
    if factor <= 1:
        return tuple(round(value * factor) for value in colour)  # type: ignore[return-value]
    return tuple(round(255 - (255 - value) * (2 - factor)) for value in colour)  # type: ignore[return-value]


class Pen:
    """Draws shapes given in 0..1 into a box of a picture; nothing leaves the box.

    Args:
        draw: of the supersampled picture.
        box: x0, y0, x1, y1 in its pixels.
        mirrored: left and right change places.
    """

    def __init__(self, draw: ImageDraw.ImageDraw, box: tuple[float, float, float, float], mirrored: bool) -> None:
        self._draw = draw
        self._box = box
        self._mirrored = mirrored

    def poly(self, colour: Colour, *points: Point) -> None:
        """A filled polygon."""
        self._draw.polygon([self._at(point) for point in points], fill=colour)

    def oval(self, colour: Colour, x0: float, y0: float, x1: float, y1: float) -> None:
        """A filled ellipse inside a rectangle."""
        self._draw.ellipse(self._rectangle(x0, y0, x1, y1), fill=colour)

    def rect(self, colour: Colour, x0: float, y0: float, x1: float, y1: float, round_by: float = 0.0) -> None:
        """A filled rectangle; ``round_by`` is a share of its shorter side."""
        area = self._rectangle(x0, y0, x1, y1)
        radius = round_by * min(area[2] - area[0], area[3] - area[1])
        self._draw.rounded_rectangle(area, radius=radius, fill=colour)

    def line(self, colour: Colour, width: float, *points: Point) -> None:
        """A line with round joints; ``width`` is a share of the box's height."""
        pixels = max(1, round(width * (self._box[3] - self._box[1])))
        self._draw.line([self._at(point) for point in points], fill=colour, width=pixels, joint="curve")

    def pie(self, colour: Colour, x0: float, y0: float, x1: float, y1: float, start: float, end: float) -> None:
        """A slice of an ellipse, degrees clockwise from three o'clock."""
        if self._mirrored:
            start, end = 180 - end, 180 - start
        self._draw.pieslice(self._rectangle(x0, y0, x1, y1), start, end, fill=colour)

    def _at(self, point: Point) -> Point:
        x0, y0, x1, y1 = self._box
        x = 1 - point[0] if self._mirrored else point[0]
        # one pixel inside: Pillow's last pixel of a shape belongs to it
        return x0 + x * (x1 - x0 - 1), y0 + point[1] * (y1 - y0 - 1)

    def _rectangle(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        corners = self._at((x0, y0)), self._at((x1, y1))
        left, right = sorted((corners[0][0], corners[1][0]))
        return left, corners[0][1], right, corners[1][1]
