"""A query, resolved once for all arms, what is removed from it, and labels related to its classes by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainers.config import DataChoice
from trainers.data import conditions
from trainers.data.decode import decode_query
from trainers.data.lru_cache import Cache
from trainers.data.pixel_range import PixelRange
from trainers.errors import DataError, UserError
from trainers.hierarchy import Hierarchy
from trainers.object_removal.fills import FillDescriptor, fill_named
from trainers.object_removal.reliance.objects import ObjectImages, ObjectRequest, square_mask
from trainers.object_removal.reliance.queries import ALONE, WHOLE, WITHOUT, filled, mean_colour
from trainers.object_removal.reliance.sources import load_objects
from trainers.retrieval.galleries import Gallery
from trainers.retrieval.results import Removal
from trainers.training.embedding import ImageEncoder


@dataclass(frozen=True, kw_only=True)
class Relation:
    """The known relation of the images of a gallery to a query.

    Attributes:
        labels: int64 ``[N, L]`` of the gallery in the classes of the query's dataset, -1: of none of them; None: it is
            not known.
        sentence: why not, or by what they were related; empty where both are of one dataset.
    """

    labels: np.ndarray | None
    sentence: str = ""


def related(labels: np.ndarray, hierarchy: Hierarchy, query: Hierarchy) -> Relation:
    """Express labels ``[N, M]`` of ``hierarchy`` in the classes of ``query``, of L levels.

    Levels with the same name match, and so do the only levels of two datasets; classes match by name, ignoring case.
    Unless every level of the query has a match and some class has, the relation is not known.
    """
    if hierarchy == query:
        return Relation(labels=labels)
    matches = _matches(hierarchy, query)
    if matches is None:
        return Relation(
            labels=None,
            sentence=f"How related the results are is not known: the query has the levels {', '.join(query.levels)}, "
            f"and the gallery {', '.join(hierarchy.levels)}.",
        )
    columns, common = [], 0
    for level, column in enumerate(matches):
        ids = {_plain(name): number for number, name in enumerate(query.names[level])}
        table = np.array([ids.get(_plain(name), -1) for name in hierarchy.names[column]], np.int64)
        common += int((table >= 0).sum())
        columns.append(table[labels[:, column]])
    if not common:
        return Relation(
            labels=None,
            sentence="How related the results are is not known: query and gallery have no class name in common.",
        )
    return Relation(labels=np.stack(columns, axis=1), sentence="Classes of query and gallery were compared by name.")


def _matches(hierarchy: Hierarchy, query: Hierarchy) -> list[int] | None:
    """Return the level of ``hierarchy`` that matches each level of ``query``; None: one has no match."""
    if hierarchy.depth == query.depth == 1:
        return [0]
    known = {_plain(name): level for level, name in enumerate(hierarchy.levels)}
    matches = [known.get(_plain(name), -1) for name in query.levels]
    return None if -1 in matches else matches


def _plain(name: str) -> str:
    return name.strip().casefold()


@dataclass(frozen=True, kw_only=True)
class RemovedObject:
    """The part that is removed from a query, at the image's own size S.

    Attributes:
        mask: bool ``[S, S]``, the pixels that go.
        fill: what takes their place.
        colour: of everything else for the object alone, uint8 ``[C]``.
        forms: uint8 ``[C, S, S]`` by name, the whole image, without the object, and the object alone.
        classes: those that go, if classes were named.
    """

    mask: np.ndarray
    fill: FillDescriptor
    colour: Tensor
    forms: dict[str, Tensor]
    classes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A query, resolved once for all arms.

    Attributes:
        query_row: of the query in the gallery; None: it is not in it.
        collection, row: where its pixels are, unless it is an image.
        image: the content of an image file.
        classes: int64 ``[L]``; None: not known.
        match: bool ``[N, L]``, agreement of each image with the query; None: not known.
        removed: what is removed from it; None: nothing.
        hidden: bool ``[N]``, images that it is not searched among, itself one of them; None: there are none but itself.
    """

    gallery: Gallery
    query_row: int | None
    collection: Gallery
    row: int | None
    image: bytes | None
    classes: np.ndarray | None = None
    labels: np.ndarray | None = None
    match: np.ndarray | None = None
    removed: RemovedObject | None = None
    hidden: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @property
    def left_out(self) -> np.ndarray:
        """Rows of the gallery that are no results, int64 ``[n]``: the query, and those that are hidden from it."""
        if self.hidden is not None:
            return np.flatnonzero(self.hidden)
        return np.array([] if self.query_row is None else [self.query_row], np.int64)


def gallery_row(gallery: Gallery, collection: Gallery, row: int) -> int | None:
    """Return the row in the gallery of the image ``row`` of ``collection``; None: it is not there."""
    if collection is gallery:
        return row
    if collection.origin != gallery.origin:
        return None
    rows = np.flatnonzero(gallery.rows == collection.rows[row])
    return int(rows[0]) if len(rows) else None


def among_gallery(asked: Asked) -> Asked:
    """Search among the gallery alone where the images are of queries and a gallery."""
    gallery, row = asked.gallery, asked.query_row
    roles = gallery.roles
    if roles is None:
        return asked
    hidden = ~roles.gallery if row is None else roles.hidden(np.array([row]), gallery.labels[:, 0])[0]
    note = f"Searched among {(~hidden).sum():,} of {len(hidden):,} images, the gallery"
    if row is not None and roles.query[row] and roles.camera is not None:
        note += " without images of the query's class by its camera"
    return replace(asked, hidden=hidden, notes=(*asked.notes, f"{note}."))


def with_labels(asked: Asked) -> Asked:
    """Add what is known of how the gallery's images are related to the query."""
    gallery, collection = asked.gallery, asked.collection
    if not (gallery.labelled and collection.labelled):
        note = "These images have no classes, so there are no severities and no scores."
        return replace(asked, notes=(*asked.notes, note))
    classes = collection.labels[asked.row]
    relation = related(gallery.labels, gallery.hierarchy, collection.hierarchy)
    notes: tuple[str, ...] = (relation.sentence,) if relation.sentence else ()
    match = None if relation.labels is None else relation.labels == classes
    if match is not None and not np.delete(match, asked.left_out, axis=0).any():
        notes += ("The gallery has no image that is related to the query.",)
    return replace(asked, classes=classes, labels=relation.labels, match=match, notes=(*asked.notes, *notes))


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

    def of(self, removal: Removal, asked: Asked) -> RemovedObject:
        """Return what is removed from a query.

        Raises:
            UserError: the query has no such object, nothing or all of it would go, or the fill cannot be used here.
        """
        fill = fill_named(removal.fill)
        reason = fill.unfit(None) or fill.lacking()
        if reason is not None:
            raise DataError(reason)
        target = removal.target
        whole = pixels_of(asked, None, SIDE)
        objects = self.known(asked.collection, asked.row) if target.classes and asked.row is not None else {}
        mask, classes = target.mask(objects, int(whole.shape[-1]))
        colour = mean_colour(asked.gallery.images(len(whole))[0])
        return RemovedObject(
            mask=mask,
            fill=fill,
            colour=colour,
            forms={WHOLE: whole} | _forms(whole, mask, fill, colour),
            classes=classes,
        )


def seen(removed: RemovedObject, asked: Asked, encoder: ImageEncoder) -> Tensor:
    """Return the image without the object and the object alone, as an encoder sees them: uint8 ``[2, C, S, S]``.

    Raises:
        UserError: the image cannot be read, or nothing that an encoder sees of it is removed.
    """
    whole = pixels_of(asked, encoder.channels, encoder.side, encoder.pixel_range)
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


def pixels_of(asked: Asked, channels: int | None, side: int, pixels: PixelRange | None = None) -> Tensor:
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
