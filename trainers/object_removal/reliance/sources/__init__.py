"""The sources of images with a known object, one file each; adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.errors import DataError
from trainers.object_removal.reliance.objects import ObjectImages
from trainers.object_removal.reliance.sources.base import ObjectRequest, ObjectSource
from trainers.registry import load

OBJECT_SOURCES = load(sys.modules[__name__])
_NOTHING_KNOWN = (
    "{} does not say where the objects are, so none can be removed. Choose the drawn pots, the drawn scenes, COCO or "
    "another dataset with a column of boxes or masks, or draw over the object of an image."
)


def load_objects(request: ObjectRequest) -> ObjectImages:
    """Load the images of the first source that knows their objects.

    Raises:
        DataError: the dataset cannot be read, or knows of no objects.
    """
    reasons = []
    for descriptor in OBJECT_SOURCES.values():
        try:
            objects: ObjectImages | None = descriptor.load(request)
        except DataError as error:
            reasons.append(error)
            continue
        if objects is not None:
            return objects
    if len(reasons) > 1:  # it could be read neither with labels nor with captions
        raise reasons[0]
    title = request.data.source.rstrip("/").rsplit("/", 1)[-1]
    raise DataError(_NOTHING_KNOWN.format(title)) from (reasons[0] if reasons else None)


__all__ = ["OBJECT_SOURCES", "ObjectRequest", "ObjectSource", "load_objects"]
