"""The bodies that the page posts, and the public endpoints build: one model each, see :mod:`explorer.server.body`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from explorer.server.body import REQUIRED, Body, Flag, Optional, Text, list_of, needs, text, whole
from explorer.server.removal import Box, Boxes, Name, Removal
from explorer.tabs.object_removal.datasets import DRAWN
from trainers.config import MAX_ARMS

FILL = "telea"
K = 5
"""Captions per list."""
MOST_MODELS = 2
"""Models that are compared on one image."""
MOST_SCORED = 3
MOST_OBJECTS = 100
MOST_CAPTIONS = 200
"""Captions of one's own."""
PATIENCE = 20
"""Seconds that a request waits for captions to be encoded, unless it says how many."""


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
        captions: of one's own, which answer in place of the dataset's.
        patience: seconds to wait for captions to be encoded.
    """

    image: Text = REQUIRED
    remove: Annotated[Removal, needs("an object")] = REQUIRED
    objects: Annotated[list[FoundObject], list_of(MOST_OBJECTS)] | None = None
    fill: Text = FILL
    models: Annotated[list[Text], list_of(MOST_MODELS)] = REQUIRED
    k: Annotated[int, whole(1, 10**9)] = K
    dataset: Text = DRAWN
    captions: Annotated[list[Text], list_of(MOST_CAPTIONS)] | None = None
    patience: Annotated[int, whole(0, PATIENCE)] = PATIENCE


class Shown(Body):
    """The image that the page shows.

    Attributes:
        ref: its reference.
        dataset: that was chosen when it was shown.
        objects: objects that were found in it.
    """

    ref: Text = REQUIRED
    dataset: Optional = ""
    objects: Annotated[list[FoundObject], list_of(MOST_OBJECTS)] | None = None


class Encode(Body):
    """``encode``: encode the captions of a dataset in the background."""

    dataset: Text = DRAWN
    models: Annotated[list[Text], list_of(MOST_MODELS)] = REQUIRED


class Score(Body):
    """``score``: ODmAP@k and recall of models.

    Attributes:
        fill: by name.
        queries: removals at most.
        every: each allowed class of an image in turn instead of one.
        seed: of the choice of images and classes.
    """

    dataset: Text = REQUIRED
    models: Annotated[list[Text], list_of(MOST_SCORED)] = REQUIRED
    fill: Text = FILL
    queries: Annotated[int, whole(1, 10**6)] = 200
    every: Flag = False
    seed: Annotated[int, whole(0, 2**31 - 1)] = 0


class Open(Body):
    """``open``: open a dataset of the Hub or of a folder.

    Attributes:
        source: its id or path; the name of a fine-tuned model, ``run:ID:0``: the images of its run, as it read them.
        captions_from: another dataset with the captions.
        limit: images of each split at most.
    """

    source: Text = REQUIRED
    captions_from: Optional = ""
    limit: Annotated[int, whole(1, 10**7)] | None = None


class Detect(Body):
    """``detect``: find the objects of an image."""

    image: Text = REQUIRED
    detector: Text = REQUIRED


class NameBox(Body):
    """``name``: classes that a model sees in a box."""

    image: Text = REQUIRED
    box: Box = REQUIRED
    model: Text = REQUIRED


class Action(Body):
    """An action on a run; ``token`` shows whose it is, ``id`` names it."""

    action: Text = REQUIRED
    token: Annotated[str, text(200, least=0)] = ""
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
    recipes: Annotated[list[Annotated[dict[str, Any], needs("a list of objects")]], list_of(MAX_ARMS)] = REQUIRED
