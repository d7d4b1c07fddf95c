"""The bodies that the page posts, and the public endpoints build: one model each, see :mod:`explorer.server.body`."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field

from explorer.object_removal.datasets import DRAWN
from explorer.server.body import REQUIRED, Body, Flag, Optional, Text, list_of, needs, text, whole
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


def _coordinate(value: object) -> float:
    """NaN for null and whatever is no number: browsers send numbers that are not finite as null."""
    return float(value) if is_number(value) else math.nan


Name = text(LONGEST_NAME)
Coordinate = Annotated[float, BeforeValidator(_coordinate)]
Box = Annotated[list[Coordinate], Field(min_length=4, max_length=4), needs("four fractions x0, y0, x1, y1")]
Boxes = list_of(Box, MOST_BOXES)


class Stroke(Body):
    """One line of a round brush: a radius as a fraction of the longer side, and points [x, y] as fractions."""

    radius: Coordinate = math.nan
    points: Annotated[list[Any], needs("a list of points [x, y]")] = REQUIRED


class Removal(Body):
    """What to remove: annotated classes, or boxes or strokes with a name in words.

    Attributes:
        classes: annotated classes, the chosen one first.
        name: what is drawn over; words: further words that stand for it.
        boxes: fractions x0, y0, x1, y1 of the image.
    """

    classes: list_of(Text, MOST_CLASSES) | None = None
    name: Optional = Field("", alias="class")
    words: list_of(Name, MOST_CLASSES) | None = None
    boxes: Boxes | None = None
    strokes: list_of(Stroke, MOST_STROKES) | None = None


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
    remove: Annotated[Removal, needs("an object")] = REQUIRED
    objects: list_of(FoundObject, MOST_OBJECTS) | None = None
    fill: Text = FILL
    models: list_of(Text, MOST_MODELS) = REQUIRED
    k: whole(1, 10**9) = K
    dataset: Text = DRAWN
    patience: whole(0, PATIENCE) = PATIENCE


class Encode(Body):
    """``encode``: encode the captions of a dataset in the background."""

    dataset: Text = DRAWN
    models: list_of(Text, MOST_MODELS) = REQUIRED


class Score(Body):
    """``score``: ODmAP@k and recall of models.

    Attributes:
        fill: by name.
        queries: removals at most.
        every: each allowed class of an image in turn instead of one.
        seed: of the choice of images and classes.
    """

    dataset: Text = REQUIRED
    models: list_of(Text, MOST_SCORED) = REQUIRED
    fill: Text = FILL
    queries: whole(1, 10**6) = 200
    every: Flag = False
    seed: whole(0, 2**31 - 1) = 0


class Open(Body):
    """``open``: open a dataset of the Hub or of a folder.

    Attributes:
        captions_from: another dataset with the captions.
        limit: images of each split at most.
        ticket: the visitor's own name for the request, under which it can be followed and left.
    """

    source: Text = REQUIRED
    captions_from: Optional = ""
    limit: whole(1, 10**7) | None = None
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
    index: whole(0, 10**6) = 0
    remove: Annotated[Removal, needs("an object")] = REQUIRED
    fill: Text = FILL
    k: whole(1, 10**6) = 8


class Action(Body):
    """What to do with a run; ``token`` shows whose it is, ``id`` names it."""

    action: Text = REQUIRED
    token: text(200, least=0) = ""
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
    recipes: list_of(Annotated[dict[str, Any], needs("a list of objects")], MAX_ARMS) = REQUIRED
