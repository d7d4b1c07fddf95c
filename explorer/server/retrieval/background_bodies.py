"""What the section "What did it look at?" posts."""

from __future__ import annotations

from typing import Annotated

from explorer.object_removal.bodies import Removal
from explorer.server.body import REQUIRED, Body, Optional, Text, needs, whole
from explorer.server.retrieval.bodies import Gallery, GalleryBody

MOST_QUERIES = 5000


class Measure(Body):
    """``background/measure``: search with the objects of the queries removed, and with nothing but the objects.

    Attributes:
        run: whose arms are measured.
        data: a dataset that knows its objects; empty: the run's own test set.
        fill: by name; empty: drawn again where that can be done, else the usual one.
        queries: most queries.
    """

    run: Text = REQUIRED
    data: Optional = ""
    fill: Optional = ""
    queries: whole(10, MOST_QUERIES) = 200


class Own(Body):
    """``background/own``: the same of one image of a visitor's own.

    Attributes:
        upload: reference of the image.
        drawing: strokes or boxes on its centre square, in fractions of that.
        fill: by name.
        gallery: what is searched.
    """

    run: Text = REQUIRED
    upload: Text = REQUIRED
    drawing: Annotated[Removal, needs("what is brushed")] = REQUIRED
    fill: Text = "telea"
    gallery: Gallery = GalleryBody()
