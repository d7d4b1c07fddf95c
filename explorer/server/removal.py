"""The body that removes something from an image, in every tab that does."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from explorer.server.body import REQUIRED, Body, Optional, Text, list_of, needs, text
from trainers.object_removal.drawing import Stroke as Drawn
from trainers.object_removal.removal import LONGEST_NAME, Target
from trainers.values import is_number

MOST_CLASSES = 20
MOST_BOXES = 200
MOST_STROKES = 200


def _coordinate(value: object) -> float:
    """Return NaN for null and whatever is no number: browsers send numbers that are not finite as null."""
    return float(value) if is_number(value) else math.nan


Name = Annotated[str, text(LONGEST_NAME)]
Coordinate = Annotated[float, BeforeValidator(_coordinate)]
Box = Annotated[list[Coordinate], Field(min_length=4, max_length=4), needs("four fractions x0, y0, x1, y1")]
Boxes = Annotated[list[Box], list_of(MOST_BOXES)]


class Stroke(Body):
    """One line of a round brush: a radius as a fraction of the longer side, and points [x, y] as fractions."""

    radius: Coordinate = math.nan
    points: Annotated[list[Any], needs("a list of points [x, y]")] = REQUIRED


class Removal(Body):
    """The body of a removal: known classes, or boxes or strokes with a name in words.

    Attributes:
        classes: known classes, the chosen one first.
        name: what is drawn over; words: further words that stand for it.
        boxes: fractions x0, y0, x1, y1 of the image.
    """

    classes: Annotated[list[Text], list_of(MOST_CLASSES)] | None = None
    name: Optional = Field("", alias="class")
    words: Annotated[list[Name], list_of(MOST_CLASSES)] | None = None
    boxes: Boxes | None = None
    strokes: Annotated[list[Stroke], list_of(MOST_STROKES)] | None = None

    def target(self) -> Target:
        """Return what is removed; a region needs no name.

        Raises:
            DataError: it names nothing, or nothing of what was drawn lies inside the image.
        """
        strokes = [Drawn(radius=stroke.radius, points=stroke.points) for stroke in self.strokes or ()]
        return Target.of(self.classes, self.boxes, None if self.strokes is None else strokes)

    def named(self) -> Target:
        """Return what is removed, where captions are searched for what a region is called.

        Raises:
            DataError: as :meth:`target`, or a region has no name.
        """
        target = self.target()
        return target if target.drawing is None else target.named(self.name, self.words or ())
