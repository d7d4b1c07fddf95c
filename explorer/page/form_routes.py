"""The addresses of the form, below ``form/``. Only ``train`` and ``act`` change anything."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.form_service import Described, FormService, Searched
from explorer.server.body import Body, Text
from explorer.server.http import Endpoint, answering, json_reply
from explorer.server.posted import BODY, Post, posted
from explorer.server.routes import TOKEN_HEADER
from explorer.server.visitors import caller

LOOKS_AT_ONCE = 4  # each may stream the first rows of a Hub dataset; more at once would only wait for the network
VIEWS_AT_ONCE = 2
_AT_ONCE = 8


class _Act(Body):
    id: Text
    action: Text


def form_routes(service: FormService) -> list[Route]:
    """Return the routes of the form, for :func:`explorer.server.routes.mounted`."""
    reads: dict[str, Endpoint] = {
        "start": lambda _: json_reply(service.start()),
        "run/{run}": lambda request: json_reply(service.of_run(request.path_params["run"])),
        "starters/{kind}": lambda request: json_reply(service.starters(request.path_params["kind"])),
    }
    posts: dict[str, tuple[Post, int]] = {
        "look": (lambda _, body: json_reply(service.look(Described.parse(body))), LOOKS_AT_ONCE),
        "search": (lambda _, body: json_reply(service.search(Searched.parse(body))), LOOKS_AT_ONCE),
        "views": (lambda _, body: json_reply(service.views(Described.parse(body))), VIEWS_AT_ONCE),
        "count": (lambda _, body: json_reply(service.count(Described.parse(body))), _AT_ONCE),
        "train": (lambda request, body: _train(service, request, body), _AT_ONCE),
        "act": (lambda request, body: _act(service, request, body), _AT_ONCE),
    }
    routes = [Route(f"/form/{path}", answering(end, 400), methods=["GET"]) for path, end in reads.items()]
    for path, (work, at_once) in posts.items():
        routes.append(Route(f"/form/{path}", answering(posted(work, BODY, at_once), 400), methods=["POST"]))
    return routes


def _train(service: FormService, request: Request, body: bytes) -> Response:
    return json_reply(service.train(Described.parse(body), _token(request), caller(request)))


def _act(service: FormService, request: Request, body: bytes) -> Response:
    asked = _Act.parse(body)
    return json_reply(service.act(asked.id, asked.action, _token(request), caller(request)))


def _token(request: Request) -> str:
    return request.headers.get(TOKEN_HEADER, "")
