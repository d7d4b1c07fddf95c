"""The addresses of what the page's modules fetch: one prefix, under which the scripts and styles stand too.

The routes are handed to Gradio (``launch(app_kwargs={"routes": mounted(...)})``) and come before its own. The endpoints
are plain functions, so Starlette runs them in threads and the event loop stays free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from explorer.server.assets import Assets
from explorer.server.http import Endpoint, answering
from explorer.server.library import Library
from explorer.server.posted import AT_ONCE, BODY, Admit, Post, posted
from explorer.server.run import Run
from trainers.errors import RunError, UserError
from trainers.runs.damage import reading

PREFIX = "/gradio_api/rankscope"
TOKEN_HEADER = "x-rankscope-token"


def token_of(request: Request) -> str:
    """Return the token that a visitor shows; empty: none."""
    return request.headers.get(TOKEN_HEADER, "")


def mounted(routes: Iterable[Route], assets: Assets | None = None) -> list[Mount]:
    """Mount all routes under :data:`PREFIX`.

    Args:
        routes: those of the tabs.
        assets: the page's own modules and styles; None: as they are shipped.
    """
    files = (assets or Assets()).answer
    return [Mount(PREFIX, routes=[*routes, *reads({"/assets/{name:path}": files, "/{rest:path}": _missing})])]


def reads(table: Mapping[str, Endpoint], below: str = "", refused: int = 404) -> list[Route]:
    """Return routes that are only read, by their paths; ``below`` stands before each.

    Args:
        refused: see :func:`explorer.server.http.answering`.
    """
    return [Route(f"{below}{path}", answering(end, refused), methods=["GET"]) for path, end in table.items()]


def posts(
    table: Mapping[str, Post], below: str = "", most: int = BODY, at_once: int = AT_ONCE, admit: Admit | None = None
) -> list[Route]:
    """Return routes that take a body, by their paths; ``below`` stands before each. See :func:`posted`."""
    ends = {path: answering(posted(work, most, at_once, admit), 400) for path, work in table.items()}
    return [Route(f"{below}{path}", end, methods=["POST"]) for path, end in ends.items()]


def about_run(library: Library, endpoint: Callable[[Run, Request], Response]) -> Callable[[Request], Response]:
    """Wrap an endpoint about the run whose ``id`` is in the path: it is watched, and a damaged one is a sentence."""

    def answer(request: Request) -> Response:
        with reading(request.path_params["id"][:40], passed=UserError):
            return endpoint(library.watch(request.path_params["id"]), request)

    return answer


def _missing(_request: Request) -> Response:
    raise RunError("There is nothing at this address.")
