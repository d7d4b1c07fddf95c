"""The addresses of the section "What did it look at?", below ``retrieval/background/``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import Endpoint, attachment, json_reply
from explorer.server.posted import Post, image_reply, whole_number
from explorer.server.routes import posts, reads
from explorer.server.visitors import caller
from explorer.tabs.retrieve.backgrounds import Backgrounds
from explorer.tabs.retrieve.bodies import Measure


def background_routes(service: Backgrounds) -> list[Route]:
    """Return the routes of the section "Background"."""

    def number(request: Request, name: str) -> int:
        return whole_number(request.path_params[name], "A number of an image", 10**9)

    def form(request: Request) -> Response:
        part = request.path_params
        return image_reply(service.form(part["key"], part["form"], number(request, "query")), "jpeg")

    ends: dict[str, Endpoint] = {
        "job/{job}": service.jobs.followed,
        "{key}/query/{query}": lambda request: json_reply(
            service.query(request.path_params["key"], number(request, "query"))
        ),
        "{key}/form/{form}/{query}": form,
        "{key}/image/{place}": lambda request: image_reply(
            service.image(request.path_params["key"], number(request, "place")), "jpeg"
        ),
        "{key}/numbers.csv": lambda request: attachment(
            service.csv(request.path_params["key"]), "rankscope-background.csv"
        ),
    }
    works: dict[str, Post] = {
        "measure": lambda request, body: json_reply(service.measure(Measure.parse(body), caller(request))),
        "job/{job}/stop": service.jobs.stopped,
    }
    return [*reads(ends, "/retrieval/background/", 400), *posts(works, "/retrieval/background/")]
