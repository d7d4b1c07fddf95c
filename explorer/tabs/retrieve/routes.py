"""The addresses of the tab "Retrieve", below ``retrieval/``. What is posted is a query; it changes nothing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import Endpoint, GoneError, attachment, json_reply
from explorer.server.posted import BODY, WAITING, Post, image_reply, query_number, whole_number
from explorer.server.routes import posts, reads, token_of
from explorer.server.visitors import caller
from explorer.tabs.retrieve import bodies
from explorer.tabs.retrieve.background_routes import background_routes
from explorer.tabs.retrieve.galleries import STORED
from explorer.tabs.retrieve.mistake_routes import mistake_routes
from explorer.tabs.retrieve.service import RetrievalService
from explorer.tabs.retrieve.uploads import LARGEST
from trainers.parameters import Choice
from trainers.retrieval.results import FILES

LISTED = 100
"""Rows of a gallery in one reply."""
SMALLEST, SIDE = 16, 512
_AT_ONCE = 8


def retrieval_routes(service: RetrievalService) -> list[Route]:
    """Return the routes of the tab, for :func:`explorer.server.routes.mounted`."""
    ends = RetrievalEndpoints(service)
    searches = service.searches
    shown: dict[str, Endpoint] = {
        "start": lambda _: json_reply(service.start()),
        "runs": ends.runs,
        "run/{run}": lambda request: json_reply(service.run(request.path_params["run"])),
        "rows/{run}/{gallery}": ends.rows,
        "image/{run}/{gallery}/{row}": ends.image,
        "upload/{ref}": lambda request: image_reply(service.uploads.get(request.path_params["ref"]).shown, "jpeg"),
        "job/{job}": searches.jobs.followed,
        "table/{name}.{kind}": ends.table,
    }
    works: dict[str, Post] = {
        "open": lambda request, body: json_reply(searches.open(bodies.Open.parse(body), caller(request))),
        "objects": lambda request, body: json_reply(searches.objects(bodies.Known.parse(body), caller(request))),
        "original": ends.original,
        "look": lambda request, body: json_reply(searches.look(bodies.Look.parse(body), caller(request))),
        "search": lambda request, body: json_reply(searches.search(bodies.Search.parse(body), caller(request))),
        "job/{job}/stop": searches.jobs.stopped,
    }
    return [
        *reads(shown, "/retrieval/", 400),
        *posts(works, "/retrieval/", BODY, _AT_ONCE),
        *posts({"/retrieval/upload": ends.upload}, "", LARGEST, WAITING, service.uploads.turns.admitted),
        *mistake_routes(service.mistakes),
        *background_routes(service.backgrounds),
    ]


class RetrievalEndpoints:
    """The endpoints that take more than a line; errors meant for people are raised, and become replies outside."""

    def __init__(self, service: RetrievalService) -> None:
        self._service = service

    def runs(self, _request: Request) -> Response:
        """Answer with the runs whose images can be searched."""
        return json_reply({"runs": self._service.runs()})

    def rows(self, request: Request) -> Response:
        """Answer with a page of an open gallery's images, those whose classes have a word in their names."""
        text = request.query_params.get("text", "")[:200]
        offset, count = query_number(request, "offset", 0, 10**9), query_number(request, "count", 24, LISTED)
        row = query_number(request, "row", 0, 10**9) if "row" in request.query_params else None
        page = self._service.galleries.rows(*self._gallery(request), text, offset, count, row)
        return json_reply(page)

    def image(self, request: Request) -> Response:
        """Answer with an image of an open gallery."""
        row = whole_number(request.path_params["row"], "A row", 10**9)
        side = min(max(query_number(request, "side", 128, 10**6), SMALLEST), SIDE)
        return image_reply(self._service.galleries.image(*self._gallery(request), row, side), "jpeg")

    def original(self, request: Request, body: bytes) -> Response:
        """Answer with the file of an image of an open gallery."""
        return json_reply(self._service.original(bodies.Known.parse(body), token_of(request), caller(request)))

    def table(self, request: Request) -> Response:
        """Answer with the results of a search as a file."""
        kind = request.path_params["kind"]
        if kind not in FILES:
            raise GoneError(f"There is no table {kind[:40]!r}; there are {', '.join(FILES)}.")
        answer = self._service.searches.answer(request.path_params["name"])
        return attachment(FILES[kind](answer), f"rankscope-results.{kind}")

    def upload(self, request: Request, body: bytes) -> Response:
        """Keep a visitor's image."""
        return json_reply({"upload": self._service.uploads.add(body, caller(request).address).ref})

    def _gallery(self, request: Request) -> tuple[str, Choice]:
        body = bodies.GalleryBody.read(request.path_params.get("gallery", STORED), request.query_params)
        return request.path_params["run"], self._service.galleries.allowed(body.choice())
