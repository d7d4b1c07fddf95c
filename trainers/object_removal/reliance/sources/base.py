"""The descriptor of a source of images with objects, and what it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trainers.config import DataChoice, SceneChoice
from trainers.object_removal.reliance.objects import ObjectImages
from trainers.progress import Progress, silent
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class ObjectRequest:
    """A request: which images, and how an encoder takes them.

    Attributes:
        data: the dataset; with captions as a choice of these if it was trained on as such.
        test_set: it is the one that the run was trained on, so that its test set is meant.
        trained: the run was trained on every class of its training set.
        channels, side: of the images.
        limit: most images of the gallery.
        progress: told what is being read; it may raise to stop.
    """

    data: DataChoice | SceneChoice
    test_set: bool
    trained: bool = False
    channels: int
    side: int
    limit: int
    progress: Progress = silent


@dataclass(frozen=True, kw_only=True)
class ObjectSource(Descriptor):
    """A way in which datasets say where their objects are.

    Attributes:
        load: the images; None: this dataset does not say it in this way. The first source that gives images is used.
            Called with the request; raises DataError where the dataset cannot be read.
    """

    load: Callable[[ObjectRequest], ObjectImages | None]
