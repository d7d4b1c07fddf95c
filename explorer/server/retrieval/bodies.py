"""What the page posts to search, and what the public endpoint builds."""

from __future__ import annotations

from typing import Annotated

from explorer.server.body import REQUIRED, Body, Optional, Text, list_of, needs, text, whole
from trainers.parameters import Choice

MOST_RUNS = 4
"""Runs that are searched together."""
MOST_K = 100
"""Results of an arm."""
MOST_ROWS = 10**9
_Name = text(80)


class GalleryBody(Body):
    """Which images are searched, or picked from.

    Attributes:
        name: of the kind of gallery.
        source, part, held_out, max_images: of another dataset; left out: its defaults.
    """

    name: _Name = "probe"
    source: Optional = ""
    part: Optional = ""
    held_out: Optional = ""
    max_images: whole(1, MOST_ROWS) | None = None

    def choice(self) -> Choice:
        """As the registry of galleries takes it."""
        given = {name: getattr(self, name) for name in ("source", "part", "held_out", "max_images")}
        return Choice(name=self.name, parameters={name: value for name, value in given.items() if value})


Gallery = Annotated[GalleryBody, needs("a gallery")]


class Open(Body):
    """``open``: read a gallery, so that its images can be shown and searched; ``run``: whose gallery it is."""

    run: Text = REQUIRED
    gallery: Gallery = REQUIRED


class QueryBody(Body):
    """What is searched for: a row of the gallery, or of another one, or an upload by its reference."""

    row: whole(0, MOST_ROWS) | None = None
    gallery: Gallery | None = None
    upload: Optional = ""


class Search(Body):
    """``search``: the first results of one query in every arm of the runs.

    Attributes:
        runs: by id; the gallery is the first one's.
        index: by name, or auto.
        rerank: a re-ranking by name; empty: by similarity alone.
        step: of the probe alone, the embeddings stored at or before this step; None: the newest.
    """

    runs: list_of(Text, MOST_RUNS, "runs") = REQUIRED
    gallery: Gallery = GalleryBody()
    query: Annotated[QueryBody, needs("a query")] = REQUIRED
    k: whole(1, MOST_K) = 10
    index: _Name = "auto"
    rerank: Optional = ""
    step: whole(0, MOST_ROWS) | None = None
