"""A query, resolved once for all arms: where it is, and how the images of the gallery are related to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from trainers.object_removal.fills import FillDescriptor
from trainers.retrieval.galleries import Gallery
from trainers.retrieval.relation import related


@dataclass(frozen=True, kw_only=True)
class Removed:
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
    """

    gallery: Gallery
    query_row: int | None
    collection: Gallery
    row: int | None
    image: bytes | None
    classes: np.ndarray | None = None
    labels: np.ndarray | None = None
    match: np.ndarray | None = None
    removed: Removed | None = None
    notes: tuple[str, ...] = ()


def gallery_row(gallery: Gallery, collection: Gallery, row: int) -> int | None:
    """Return the row in the gallery of the image ``row`` of ``collection``; None: it is not there."""
    if collection is gallery:
        return row
    if collection.origin != gallery.origin:
        return None
    rows = np.flatnonzero(gallery.rows == collection.rows[row])
    return int(rows[0]) if len(rows) else None


def with_labels(asked: Asked) -> Asked:
    """Add what is known of how the gallery's images are related to the query."""
    gallery, collection = asked.gallery, asked.collection
    if not (gallery.labelled and collection.labelled):
        return replace(asked, notes=("These images have no classes, so there are no severities and no scores.",))
    classes = collection.labels[asked.row]
    relation = related(gallery.labels, gallery.hierarchy, collection.hierarchy)
    notes: tuple[str, ...] = (relation.sentence,) if relation.sentence else ()
    match = None if relation.labels is None else relation.labels == classes
    if match is not None and match.any(axis=1).sum() == (asked.query_row is not None):
        notes += ("The gallery has no image that is related to the query.",)
    return replace(asked, classes=classes, labels=relation.labels, match=match, notes=notes)
