"""The addresses of the section "What did it look at?", below ``retrieval/background/``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import Endpoint, answering, json_reply
from explorer.server.posted import BODY, Post, image_reply, posted, whole_number
from explorer.server.visitors import caller
from explorer.tabs.retrieve.backgrounds import Backgrounds
from explorer.tabs.retrieve.bodies import Measure

_AT_ONCE = 4


def background_routes(service: Backgrounds) -> list[Route]:
    """Return the routes of the section "Background"."""

    def number(request: Request, name: str) -> int:
        return whole_number(request.path_params[name], "A number of an image", 10**9)

    def stop(request: Request, _body: bytes) -> Response:
        service.jobs.stop(service.jobs.get(request.path_params["job"]))
        return json_reply({})

    def form(request: Request) -> Response:
        part = request.path_params
        return image_reply(service.form(part["key"], part["form"], number(request, "query")), "jpeg")

    def csv(request: Request) -> Response:
        headers = {
            "Content-Disposition": 'attachment; filename="rankscope-background.csv"',
            "Cache-Control": "no-store",
        }
        content = service.csv(request.path_params["key"])
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    reads: dict[str, Endpoint] = {
        "job/{job}": lambda request: json_reply(service.jobs.get(request.path_params["job"]).json()),
        "{key}/query/{query}": lambda request: json_reply(
            service.query(request.path_params["key"], number(request, "query"))
        ),
        "{key}/form/{form}/{query}": form,
        "{key}/image/{place}": lambda request: image_reply(
            service.image(request.path_params["key"], number(request, "place")), "jpeg"
        ),
        "{key}/numbers.csv": csv,
    }
    posts: dict[str, Post] = {
        "measure": lambda request, body: json_reply(service.measure(Measure.parse(body), caller(request))),
        "job/{job}/stop": stop,
    }
    routes = [
        Route(f"/retrieval/background/{path}", answering(end, 400), methods=["GET"]) for path, end in reads.items()
    ]
    for path, work in posts.items():
        end = answering(posted(work, BODY, _AT_ONCE), 400)
        routes.append(Route(f"/retrieval/background/{path}", end, methods=["POST"]))
    return routes
