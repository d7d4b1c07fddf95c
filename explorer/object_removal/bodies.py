"""The bodies that the page posts, and the public endpoints build: one model each.

A value of the wrong type or out of range is refused with a message: its name, what it needs and what was given. null
counts as not given. Names in JSON differ from the attributes where an alias is set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from explorer.object_removal.datasets import DRAWN
from explorer.server.http import RequestError
from explorer.server.plain import parse, seen
from trainers.config import MAX_ARMS
from trainers.parameters import is_number

FILL = "telea"
K = 5
"""Captions per list."""
MOST_MODELS = 2
"""Models that are compared on one image."""
MOST_SCORED = 3
MOST_CLASSES = 20
MOST_OBJECTS = 100
MOST_BOXES = 200
MOST_STROKES = 200
LONGEST_NAME = 60
PATIENCE = 20
"""Seconds that a request waits for captions to be encoded, unless it says how many."""
B = TypeVar("B", bound="Body")


def _needs(what: str) -> WrapValidator:
    """Says what a value needs, instead of pydantic's own words."""

    def check(value: Any, handler: Any) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            if any(one["type"] == "needs" for one in error.errors(include_url=False)):
                raise  # a value inside this one has its own message
            raise PydanticCustomError("needs", "{what}; got {got}", {"what": what, "got": seen(value)}) from None

    return WrapValidator(check)


def _integral(value: Any) -> Any:
    return int(value) if isinstance(value, float) and is_number(value) and value == int(value) else value


def _coordinate(value: object) -> float:
    """NaN for null and whatever is no number: browsers send numbers that are not finite as null."""
    return float(value) if is_number(value) else math.nan


def _text(longest: int = 400, least: int = 1) -> Any:
    what = "a text" if longest == 400 else f"a text of at most {longest} letters"
    constraints = StringConstraints(strip_whitespace=True, min_length=least, max_length=longest)
    return Annotated[str, constraints, _needs(what)]


def _whole(low: int, high: int) -> Any:
    limits = Field(ge=low, le=high)
    return Annotated[int, limits, BeforeValidator(_integral), _needs(f"a whole number from {low} to {high}")]


def _list(item: Any, most: int, what: str = "entries") -> Any:
    limits = Field(min_length=1, max_length=most)
    return Annotated[list[item], limits, _needs(f"a list of 1 to {most} {what}")]


Text = _text()
Name = _text(LONGEST_NAME)
Optional = _text(least=0)
Number = Annotated[float, Field(allow_inf_nan=False), _needs("a number")]
Flag = Annotated[bool, _needs("true or false")]
Coordinate = Annotated[float, BeforeValidator(_coordinate)]
Box = Annotated[list[Coordinate], Field(min_length=4, max_length=4), _needs("four fractions x0, y0, x1, y1")]
Boxes = _list(Box, MOST_BOXES)
REQUIRED: Any = Field(default=None, validate_default=True)


class Body(BaseModel):
    """What all bodies have in common: strict types; further values are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: value for name, value in values.items() if value is not None}
        return values

    @classmethod
    def parse(cls: type[B], body: bytes) -> B:
        """From the body of a request.

        Raises:
            RequestError: it is no JSON object, or a value is refused.
        """
        return cls.of(parse(body))

    @classmethod
    def of(cls: type[B], values: Mapping[str, Any]) -> B:
        """From plain values.

        Raises:
            RequestError: a value is refused.
        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            aliases = {name: field.alias for name, field in cls.model_fields.items() if field.alias}
            where = ".".join(aliases.get(part, part) for part in first["loc"] if isinstance(part, str))
            raise RequestError(f"{where} needs {first['msg']}.") from None


class Stroke(Body):
    """One line of a round brush: a radius as a fraction of the longer side, and points [x, y] as fractions."""

    radius: Coordinate = math.nan
    points: Annotated[list[Any], _needs("a list of points [x, y]")] = REQUIRED


class Removal(Body):
    """What to remove: annotated classes, or boxes or strokes with a name in words.

    Attributes:
        classes: annotated classes, the chosen one first.
        name: what is drawn over; words: further words that stand for it.
        boxes: fractions x0, y0, x1, y1 of the image.
    """

    classes: _list(Text, MOST_CLASSES) | None = None
    name: Optional = Field("", alias="class")
    words: _list(Name, MOST_CLASSES) | None = None
    boxes: Boxes | None = None
    strokes: _list(Stroke, MOST_STROKES) | None = None


class FoundObject(Body):
    """An object that a detector found in an upload."""

    name: Name = Field(default=None, validate_default=True, alias="class")
    boxes: Boxes = REQUIRED


class Query(Body):
    """``query``: remove something from an image and retrieve captions before and after.

    Attributes:
        image: reference of the image.
        remove: what to remove.
        objects: objects of an upload.
        fill: by name.
        models: one or two by name.
        k: captions per list.
        dataset: whose captions answer for an upload.
        patience: seconds to wait for captions to be encoded.
    """

    image: Text = REQUIRED
    remove: Annotated[Removal, _needs("an object")] = REQUIRED
    objects: _list(FoundObject, MOST_OBJECTS) | None = None
    fill: Text = FILL
    models: _list(Text, MOST_MODELS) = REQUIRED
    k: _whole(1, 10**9) = K
    dataset: Text = DRAWN
    patience: _whole(0, PATIENCE) = PATIENCE


class Encode(Body):
    """``encode``: encode the captions of a dataset in the background."""

    dataset: Text = DRAWN
    models: _list(Text, MOST_MODELS) = REQUIRED


class Score(Body):
    """``score``: ODmAP@k and recall of models.

    Attributes:
        fill: by name.
        queries: removals at most.
        every: each allowed class of an image in turn instead of one.
        seed: of the choice of images and classes.
    """

    dataset: Text = REQUIRED
    models: _list(Text, MOST_SCORED) = REQUIRED
    fill: Text = FILL
    queries: _whole(1, 10**6) = 200
    every: Flag = False
    seed: _whole(0, 2**31 - 1) = 0


class Open(Body):
    """``open``: open a dataset of the Hub or of a folder.

    Attributes:
        captions_from: another dataset with the captions.
        limit: images of each split at most.
        ticket: the visitor's own name for the request, under which it can be followed and left.
    """

    source: Text = REQUIRED
    captions_from: Optional = ""
    limit: _whole(1, 10**7) | None = None
    ticket: Optional = ""


class Detect(Body):
    """``detect``: find the objects of an image."""

    image: Text = REQUIRED
    detector: Text = REQUIRED


class NameBox(Body):
    """``name``: classes that a model sees in a box."""

    image: Text = REQUIRED
    box: Box = REQUIRED
    model: Text = REQUIRED


class Neighbours(Body):
    """``neighbours``: neighbours of a run's test image before and after filling; ``index`` is a point of the run."""

    run: Text = REQUIRED
    index: _whole(0, 10**6) = 0
    remove: Annotated[Removal, _needs("an object")] = REQUIRED
    fill: Text = FILL
    k: _whole(1, 10**6) = 8


class Action(Body):
    """What to do with a run; ``token`` shows whose it is, ``id`` names it."""

    action: Text = REQUIRED
    token: _text(200, least=0) = ""
    id: Optional = ""


class Finetune(Body):
    """The run that fine-tunes a model. Its settings are those of the run's configuration, and checked there.

    Attributes:
        dataset: an open dataset by name.
        recipes: values of each recipe; null is a value there.
    """

    model_config = ConfigDict(extra="allow")

    dataset: Text = REQUIRED
    model: Text = REQUIRED
    recipes: _list(Annotated[dict[str, Any], _needs("a list of objects")], MAX_ARMS) = REQUIRED
