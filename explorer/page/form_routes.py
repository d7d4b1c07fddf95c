"""The addresses of the form, below ``form/``. Only ``train``, ``dropping`` and ``drop`` change anything."""

from __future__ import annotations

from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.form_service import Described, FormService, Grouped, Original, Searched
from explorer.server.body import REQUIRED, Body, Optional, Text, list_of, text, whole
from explorer.server.drops import DEEPEST, LONGEST, PIECE, PIECES, Drops
from explorer.server.http import Endpoint, json_reply
from explorer.server.posted import BODY, Admit, Post
from explorer.server.routes import posts, reads, token_of
from explorer.server.visitors import caller

LOOKS_AT_ONCE = 4  # each may stream the first rows of a Hub dataset; more at once would only wait for the network
VIEWS_AT_ONCE = 2
GROUPS_AT_ONCE = 1  # each loads a model
_AT_ONCE = 8


class _Piece(Body):
    path: Annotated[str, text(DEEPEST * LONGEST)] = REQUIRED
    at: Annotated[int, whole(0, 2**40)] = REQUIRED
    size: Annotated[int, whole(0, PIECE)] = REQUIRED


class _Pieces(Body):
    id: Text = REQUIRED
    files: Annotated[list[_Piece], list_of(PIECES, "pieces of files")] = REQUIRED


class _Dropped(Body):
    id: Optional = ""
    action: Text = REQUIRED


def form_routes(service: FormService, admit: Admit | None = None) -> list[Route]:
    """Return the routes of the form, for :func:`explorer.server.routes.mounted`.

    Args:
        admit: see :func:`explorer.server.posted.posted`, for pieces of what is dropped.
    """
    shown: dict[str, Endpoint] = {
        "start": lambda _: json_reply(service.start()),
        "run/{run}": lambda request: json_reply(service.of_run(request.path_params["run"])),
        "starters/{kind}": lambda request: json_reply(service.starters(request.path_params["kind"])),
    }
    works: dict[str, tuple[Post, int]] = {
        "look": (lambda _, body: json_reply(service.look(Described.parse(body))), LOOKS_AT_ONCE),
        "original": (
            lambda request, body: json_reply(service.original(Original.parse(body), caller(request))),
            LOOKS_AT_ONCE,
        ),
        "search": (lambda _, body: json_reply(service.search(Searched.parse(body))), LOOKS_AT_ONCE),
        "groups": (lambda _, body: json_reply(service.groups(Grouped.parse(body))), GROUPS_AT_ONCE),
        "views": (lambda _, body: json_reply(service.views(Described.parse(body))), VIEWS_AT_ONCE),
        "count": (lambda _, body: json_reply(service.count(Described.parse(body))), _AT_ONCE),
        "train": (lambda request, body: _train(service, request, body), _AT_ONCE),
        "map": (lambda request, body: json_reply(service.map(Described.parse(body), caller(request))), _AT_ONCE),
        "dropping": (lambda request, body: _dropping(service.drops, request, body), _AT_ONCE),
    }
    routes = reads(shown, "/form/", 400)
    for path, (work, at_once) in works.items():
        routes += posts({path: work}, "/form/", BODY, at_once)
    dropped: dict[str, Post] = {"/form/drop": lambda _, body: _taken(service.drops, body)}
    return routes + posts(dropped, "", PIECE + BODY, _AT_ONCE, admit)


def _dropping(drops: Drops, request: Request, body: bytes) -> Response:
    """Begin to take what is dropped, keep it, or give it up."""
    asked = _Dropped.parse(body)
    if asked.action == "begin":
        return json_reply({"id": drops.begin(caller(request))})
    if asked.action == "end":
        return json_reply(drops.end(asked.id))
    drops.cancel(asked.id)
    return json_reply({})


def _taken(drops: Drops, body: bytes) -> Response:
    """Take pieces of files: the length of a JSON head in four bytes, the head, and the pieces one after another."""
    size = int.from_bytes(body[:4], "big")
    head = _Pieces.parse(body[4 : 4 + size])
    drops.add(head.id, [(file.path, file.at, file.size) for file in head.files], body[4 + size :])
    return json_reply({})


def _train(service: FormService, request: Request, body: bytes) -> Response:
    return json_reply(service.train(Described.parse(body), token_of(request), caller(request)))
