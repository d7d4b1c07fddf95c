"""The addresses of what the page's modules fetch: one prefix, under which the scripts and styles stand too.

The routes are handed to Gradio (``launch(app_kwargs={"routes": mounted(...)})``) and come before its own. The endpoints
are plain functions, so Starlette runs them in threads and the event loop stays free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route

from explorer.server.http import Endpoint, answering, unless_known
from explorer.server.library import Library
from explorer.server.posted import AT_ONCE, BODY, Admit, Post, posted
from explorer.server.run import Run
from explorer.settings import ASSETS
from trainers.errors import RunError, UserError
from trainers.runs.damage import reading

PREFIX = "/gradio_api/rankscope"
TOKEN_HEADER = "x-rankscope-token"
_ASSET = re.compile(r"(?:[a-z_]+/){0,2}[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(?:js|css|svg|png)")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png"}


def token_of(request: Request) -> str:
    """Return the token that a visitor shows; empty: none."""
    return request.headers.get(TOKEN_HEADER, "")


def mounted(routes: Iterable[Route], assets: Path = ASSETS) -> list[Mount]:
    """Mount all routes under :data:`PREFIX`.

    Args:
        routes: those of the tabs.
        assets: folder of the page's own modules and styles.
    """

    def asset(request: Request) -> Response:
        return _asset(request, assets)

    return [Mount(PREFIX, routes=[*routes, *reads({"/assets/{name:path}": asset, "/{rest:path}": _missing})])]


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


def _asset(request: Request, assets: Path) -> Response:
    """Answer with a module, style or drawing of the page."""
    name = request.path_params["name"]
    path = assets / name
    if not _ASSET.fullmatch(name) or not path.is_file():
        raise RunError(f"There is no asset {name[:80]!r}.")
    about = path.stat()
    version = f"{about.st_mtime_ns:x}-{about.st_size:x}"
    return unless_known(request, version, FileResponse(path, media_type=_TYPES[path.suffix]))


def _missing(_request: Request) -> Response:
    raise RunError("There is nothing at this address.")
