"""The bodies that the page posts to search, and that the public endpoint builds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, ConfigDict
from pydantic_core import PydanticCustomError

from explorer.server.body import REQUIRED, Body, Optional, Text, list_of, needs, text, whole
from explorer.server.plain import seen
from explorer.server.removal import Removal
from trainers.object_removal.reliance.occlusion import GRID, MOST
from trainers.parameters import Choice, Spec, is_number, specs
from trainers.retrieval.galleries import GALLERIES

MOST_RUNS = 4
"""Runs that are searched together."""
MOST_K = 100
"""Results of an arm."""
MOST_ROWS = 10**9
LONGEST = 400
"""Letters of a parameter."""
MOST_QUERIES = 5000
"""Of a measurement with objects removed."""
FILL = "telea"
_Name = Annotated[str, text(80)]


PARAMETERS: Mapping[str, Spec] = {
    spec.name: spec for descriptor in GALLERIES.values() for spec in specs(descriptor.parameters)
}
"""The parameters of all galleries, by name."""


def _plain(value: Any) -> Any:
    if isinstance(value, str) and len(value.strip()) <= LONGEST:
        return value.strip()
    if isinstance(value, bool) or is_number(value):
        return value
    what = f"a text of at most {LONGEST} letters or a number"
    raise PydanticCustomError("needs", "{what}; got {got}", {"what": what, "got": seen(value)})


class GalleryBody(Body):
    """The gallery to search, or to pick from: its name, and beside it its parameters.

    A parameter that is left out or empty has its default.
    """

    model_config = ConfigDict(extra="allow")
    if not TYPE_CHECKING:  # mypy takes it for a value that has to be given
        __pydantic_extra__: dict[str, Annotated[Any, AfterValidator(_plain)]]

    name: _Name = "probe"

    @classmethod
    def read(cls, name: str, query: Mapping[str, str]) -> GalleryBody:
        """Read it from the name and the query of an address, whose other parts are ignored.

        Raises:
            RequestError: a value is refused.
        """
        return cls.of({"name": name, **{key: _typed(key, query[key]) for key in query if key in PARAMETERS}})

    def choice(self) -> Choice:
        """Return it as the registry of galleries takes it.

        Raises:
            ParameterError: the gallery does not have a parameter, or its value is refused.
        """
        given = {name: value for name, value in (self.model_extra or {}).items() if name in PARAMETERS and value != ""}
        if self.name in GALLERIES:
            GALLERIES[self.name].checked(given)
        return Choice(name=self.name, parameters=given)


def _typed(name: str, text: str) -> Any:
    """Convert a value from an address: a text or, where the parameter is none, a number or a truth value."""
    if PARAMETERS[name].type is str:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


Gallery = Annotated[GalleryBody, needs("a gallery")]


class Open(Body):
    """``open``: read a gallery, so that its images can be shown and searched; ``run``: whose gallery it is."""

    run: Text = REQUIRED
    gallery: Gallery = REQUIRED


class Known(Body):
    """``objects``: which objects are known in an image of a gallery."""

    run: Text = REQUIRED
    gallery: Gallery = GalleryBody()
    row: Annotated[int, whole(0, MOST_ROWS)] = REQUIRED


class QueryBody(Body):
    """The query: a row of the gallery, or of another one, or an upload by its reference.

    Attributes:
        remove: the image is searched for as it is, without this, and with nothing but this.
        fill: what takes its place, by name.
    """

    row: Annotated[int, whole(0, MOST_ROWS)] | None = None
    gallery: Gallery | None = None
    upload: Optional = ""
    remove: Annotated[Removal, needs("an object")] | None = None
    fill: Text = FILL


class Search(Body):
    """``search``: the first results of one query in every arm of the runs.

    Attributes:
        runs: by id; the gallery is the first one's.
        index: by name, or auto.
        rerank: a re-ranking by name; empty: by similarity alone.
        step: of the probe alone, the embeddings stored at or before this step; None: the newest.
    """

    runs: Annotated[list[Text], list_of(MOST_RUNS, "runs")] = REQUIRED
    gallery: Gallery = GalleryBody()
    query: Annotated[QueryBody, needs("a query")] = REQUIRED
    k: Annotated[int, whole(1, MOST_K)] = 10
    index: _Name = "auto"
    rerank: Optional = ""
    step: Annotated[int, whole(0, MOST_ROWS)] | None = None


class Look(Body):
    """``look``: cover a query patch by patch, to see what the similarity hangs on in every loss of the runs.

    Attributes:
        result: row in the gallery that the similarity is to; None: the mean of the query's class, or of the first
            results where that is not known.
        grid: patches on each side.
    """

    runs: Annotated[list[Text], list_of(MOST_RUNS, "runs")] = REQUIRED
    gallery: Gallery = GalleryBody()
    query: Annotated[QueryBody, needs("a query")] = REQUIRED
    result: Annotated[int, whole(0, MOST_ROWS)] | None = None
    grid: Annotated[int, whole(2, MOST)] = GRID


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
    queries: Annotated[int, whole(10, MOST_QUERIES)] = 200
