"""A query without what is removed from it: where that is, how the image then looks, and what is found for it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trainers.config import DataChoice
from trainers.data import conditions
from trainers.data.decode import decode_query
from trainers.data.lru_cache import Cache
from trainers.data.pixel_range import PixelRange
from trainers.errors import DataError, UserError
from trainers.object_removal.fills import FillDescriptor, fill_named
from trainers.object_removal.reliance.objects import ObjectImages, ObjectRequest, square_mask
from trainers.object_removal.reliance.queries import ALONE, WHOLE, WITHOUT, filled, mean_colour
from trainers.object_removal.reliance.sources import load_objects
from trainers.retrieval.galleries import Gallery
from trainers.retrieval.query import Asked, Removed
from trainers.retrieval.results import Removal
from trainers.training.embedding import ImageEncoder

SIDE = 320
"""Of an image file whose object is removed, as it is shown, pixels."""
_KEPT = 2  # datasets whose objects are known


class Removals:
    """Finds what is removed from queries, and keeps the objects of the last datasets."""

    def __init__(self) -> None:
        self._objects: Cache[ObjectImages | None] = Cache(limit=_KEPT)

    def known(self, gallery: Gallery, row: int) -> dict[str, np.ndarray]:
        """Map each class to the pixels of its objects in an image of a gallery, bool ``[S, S]``; empty: none is known.

        Raises:
            UserError: the image cannot be read.
        """
        side, choice = int(gallery.image(row).shape[-1]), gallery.choice
        if not isinstance(choice, DataChoice):
            given: dict[str, np.ndarray] = choice.objects(int(gallery.rows[row]), side)
            return given
        if gallery.part != "test" or choice.conditions.folds:
            return {}
        objects = self._objects.get((choice, side), lambda: _read(choice, side))
        if objects is None:
            return {}
        rows = np.flatnonzero(objects.rows == gallery.rows[row])
        return objects.known(int(rows[0])) if len(rows) else {}

    def of(self, removal: Removal, asked: Asked) -> Removed:
        """Return what is removed from a query.

        Raises:
            UserError: the query has no such object, nothing or all of it would go, or the fill cannot be used here.
        """
        fill = fill_named(removal.fill)
        reason = fill.unfit(None) or fill.lacking()
        if reason is not None:
            raise DataError(reason)
        target = removal.target
        whole = _pixels(asked, None, SIDE)
        objects = self.known(asked.collection, asked.row) if target.classes and asked.row is not None else {}
        mask, classes = target.mask(objects, int(whole.shape[-1]))
        colour = mean_colour(asked.gallery.images(len(whole))[0])
        return Removed(
            mask=mask,
            fill=fill,
            colour=colour,
            forms={WHOLE: whole} | _forms(whole, mask, fill, colour),
            classes=classes,
        )


def seen(removed: Removed, asked: Asked, encoder: ImageEncoder) -> Tensor:
    """Return the image without the object and the object alone, as an encoder sees them: uint8 ``[2, C, S, S]``.

    Raises:
        UserError: the image cannot be read, or nothing that an encoder sees of it is removed.
    """
    whole = _pixels(asked, encoder.channels, encoder.side, encoder.pixel_range)
    forms = _forms(whole, square_mask(removed.mask, encoder.side), removed.fill, removed.colour)
    return torch.stack([forms[WITHOUT], forms[ALONE]])


def _read(choice: DataChoice, side: int) -> ObjectImages | None:
    """Read the objects of a dataset's test images at a size; None: none are known."""
    request = ObjectRequest(
        data=conditions.without(choice), test_set=True, channels=3, side=side, limit=choice.max_images
    )
    try:
        objects = load_objects(request)
    except DataError:
        return None
    return None if objects.ids else objects  # read with captions, its images are in another order than the run's


def _pixels(asked: Asked, channels: int | None, side: int, pixels: PixelRange | None = None) -> Tensor:
    """Return the query uint8 ``[C, S, S]`` as an encoder takes it; without ``channels`` a gallery's image as it is."""
    if asked.image is not None:
        return decode_query(asked.image, channels=channels or 3, side=side, pixels=pixels)[0]
    assert asked.row is not None
    if channels is None:
        return asked.collection.image(asked.row)
    images, _ = asked.collection.images(channels, side)
    return images[asked.row]


def _forms(whole: Tensor, mask: np.ndarray, fill: FillDescriptor, colour: Tensor) -> dict[str, Tensor]:
    if not mask.any():
        raise UserError("Nothing is removed in the centre square, all that an encoder sees of an image.")
    if len(colour) != len(whole):
        colour = colour.float().mean().round().to(torch.uint8).expand(len(whole))
    alone = torch.where(torch.from_numpy(mask), whole, colour[:, None, None])
    return {WITHOUT: filled(whole, mask, fill), ALONE: alone}
