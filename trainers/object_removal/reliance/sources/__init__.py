"""The sources of images with a known object, one file each; adding one is adding a file with a ``DESCRIPTOR``."""

import sys
from functools import lru_cache
from pathlib import Path

from trainers.config import DataChoice
from trainers.data import named
from trainers.data.labelled.datasets.drawn import DESCRIPTOR as DRAWN
from trainers.errors import DataError
from trainers.object_removal.reliance.objects import ObjectImages
from trainers.object_removal.reliance.sources.base import ObjectRequest, ObjectSource
from trainers.registry import load

OBJECT_SOURCES = load(sys.modules[__name__])
_NOTHING_KNOWN = (
    "{} does not say where the objects are, so none can be removed. Choose the drawn pots, the drawn scenes, COCO or "
    "another dataset with a column of boxes or masks, or draw over the object of an image."
)


_SAYING = ("*.json*", "*.csv", "*.parquet", "*.arrow", "*/metadata.*", "*/*.parquet", "*/*.arrow", "[aA]nnotations/*")
"""Files of a folder beside its images, in which objects may be said."""


def why_unknown(data: object) -> str | None:
    """Say why the objects in a dataset cannot be known, or None where they may be; nothing of it is read.

    Args:
        data: labelled images, or scenes with objects in any form.
    """
    if not isinstance(data, DataChoice):
        return None
    source = named(data.source)
    silent = source is not DRAWN if source is not None else _images_alone(data.source)
    return _NOTHING_KNOWN.format(_title(data.source)) if silent else None


@lru_cache(maxsize=64)
def _images_alone(source: str) -> bool:
    try:
        folder = Path(source).expanduser()
        return folder.is_dir() and not any(any(folder.glob(pattern)) for pattern in _SAYING)
    except (OSError, RuntimeError, ValueError):
        return False


def _title(source: str) -> str:
    return source.rstrip("/").rsplit("/", 1)[-1]


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
    raise DataError(_NOTHING_KNOWN.format(_title(request.data.source))) from (reasons[0] if reasons else None)


__all__ = ["OBJECT_SOURCES", "ObjectRequest", "ObjectSource", "load_objects", "why_unknown"]
