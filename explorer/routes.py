"""What the page's modules fetch: run lists, polls, frames, thumbnails, neighbours and downloads. Reads only.

The routes are handed to Gradio (``launch(app_kwargs={"routes": routes(...)})``) and come before its own. The endpoints
are plain functions, so Starlette runs them in threads and the event loop stays free.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from anyio import CapacityLimiter, to_thread
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route

from explorer import retrieve, view
from explorer.exports import EXPORTS, filename
from explorer.library import Library, Run
from explorer.settings import ASSETS
from explorer.view import Queue
from trainers.errors import RunError, UserError

PREFIX = "/gradio_api/rankscope"
FOREVER = "public, max-age=31536000, immutable"
TOKEN_HEADER = "x-rankscope-token"
_ASSET = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(?:js|css|svg)")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_BINARY = "application/octet-stream"
_NUMBER = re.compile(r"[0-9]{1,9}")
Endpoint = Callable[[Request], Any]  # a response, or a promise of one
_log = logging.getLogger(__name__)


class Layout(Protocol):
    """The process that turns snapshots into maps."""

    def watch(self, run_id: str) -> None:
        """Somebody looks at this run: keep its maps up to date."""


class RequestError(UserError):
    """The address asks for something in the wrong form."""


def routes(library: Library, layout: Layout | None, queue: Queue | None, assets: Path = ASSETS) -> list[Route | Mount]:
    """All routes, under ``/gradio_api/rankscope``.

    Args:
        layout: told which runs are being watched; None: nobody lays out.
        queue: knows the places in the waiting line; None: no line.
        assets: folder of the page's own modules and styles.
    """
    ends = Endpoints(library, layout, queue, assets)
    table: Mapping[str, Endpoint] = {
        "/assets/{name}": ends.asset,
        "/runs": ends.runs,
        "/start": ends.start,
        "/run/{id}": ends.about,
        "/run/{id}/poll": ends.poll,
        "/run/{id}/frame/{k}": ends.frame,
        "/run/{id}/frameinfo/{k}": ends.frame_info,
        "/run/{id}/sheet/{name}": ends.sheet,
        "/run/{id}/neighbours/{k}/{index}": ends.neighbours,
        "/run/{id}/download/{kind}": ends.download,
        "/{rest:path}": ends.missing,
    }
    return [Mount(PREFIX, routes=[Route(path, _answer(end), methods=["GET"]) for path, end in table.items()])]


class Endpoints:
    """One method per route; errors meant for people are raised, and worded into replies outside."""

    def __init__(self, library: Library, layout: Layout | None, queue: Queue | None, assets: Path) -> None:
        self._library = library
        self._layout = layout
        self._queue = queue
        self._assets = assets
        self._writing: CapacityLimiter | None = None

    def asset(self, request: Request) -> Response:
        """A module, style or drawing of the page."""
        name = request.path_params["name"]
        path = self._assets / name
        if not _ASSET.fullmatch(name) or not path.is_file():
            raise RunError(f"There is no asset {name[:80]!r}.")
        about = path.stat()
        tag = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
        headers = {"Cache-Control": "no-cache", "ETag": tag}
        if _knows(request, tag):
            return Response(status_code=304, headers=headers)
        return FileResponse(path, media_type=_TYPES[path.suffix], headers=headers)

    def runs(self, request: Request) -> Response:
        """The list of runs."""
        token = request.headers.get(TOKEN_HEADER) or None
        return _json({"runs": view.runs(self._library, self._queue, token)})

    def start(self, _request: Request) -> Response:
        """Which run to show first."""
        return _json({"id": view.start(self._library)})

    def about(self, request: Request) -> Response:
        """One run, without its frames."""
        return _json(view.about(self._run(request)))

    def poll(self, request: Request) -> Response:
        """What is new."""
        run = self._run(request)
        after, row = _query(request, "after", -1), _query(request, "row", 0)
        if self._layout is not None and not run.recorded:
            self._layout.watch(run.id)
        return _json(view.poll(run, self._queue, after, row))

    def frame(self, request: Request) -> Response:
        """The maps of all arms, as binary coordinates."""
        run, k = self._run(request), _path(request, "k")
        content = self._library.coordinates(run, k)
        if run.recorded or run.folder.state().phase == "finished":
            return Response(content, media_type=_BINARY, headers={"Cache-Control": FOREVER})
        # a run that can be resumed may write a frame of the same number again
        return _unless_known(request, self._library.version(run, k), content)

    def frame_info(self, request: Request) -> Response:
        """Step, quality and drift of one frame."""
        return _json(view.frame_info(self._run(request), _path(request, "k")))

    def sheet(self, request: Request) -> Response:
        """One sheet of thumbnails."""
        run = self._run(request)
        name = request.path_params["name"]
        number, _, suffix = name.partition(".")
        if suffix != "webp" or not _NUMBER.fullmatch(number):
            raise RequestError(f"A thumbnail sheet is called 0.webp, 1.webp and so on; {name[:40]!r} was asked for.")
        path = run.folder.sheet_path(int(number))
        if not path.is_file():
            raise RunError(f"The run {run.id} has no thumbnail sheet {int(number)}.")
        return FileResponse(path, media_type="image/webp", headers={"Cache-Control": FOREVER})

    def neighbours(self, request: Request) -> Response:
        """The results of one query."""
        found = retrieve.neighbours(self._library, self._run(request), _path(request, "k"), _path(request, "index"))
        return _json(found)

    async def download(self, request: Request) -> Response:
        """The run as a file to keep; ``?weights=1`` puts checkpoints into the zip."""
        # writing takes seconds: two at a time, and those that wait hold no thread that viewers need
        if self._writing is None:
            self._writing = CapacityLimiter(2)
        return await to_thread.run_sync(self._written, request, limiter=self._writing)

    def _written(self, request: Request) -> Response:
        run = self._run(request)
        kind = request.path_params["kind"]
        if kind not in EXPORTS:
            raise RunError(f"There is no download {kind[:40]!r}; there are {', '.join(EXPORTS)}.")
        handle, name = tempfile.mkstemp(prefix="rankscope-", suffix=f"-{kind}")
        os.close(handle)
        path = Path(name)
        try:
            EXPORTS[kind].write(self._library, run, path, request.query_params.get("weights") == "1")
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return FileResponse(
            path,
            media_type=EXPORTS[kind].media_type,
            filename=filename(run, kind),
            headers={"Cache-Control": "no-store"},
            background=BackgroundTask(path.unlink, missing_ok=True),
        )

    def missing(self, _request: Request) -> Response:
        """Any other address below ours."""
        raise RunError("There is nothing at this address.")

    def _run(self, request: Request) -> Run:
        return self._library.get(request.path_params["id"])


def _answer(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with errors worded as JSON and the browser told not to guess content types."""

    def answer(request: Request) -> Response:
        try:
            return _safe(endpoint(request))
        except Exception as error:
            return _safe(_worded(error, request))

    async def answer_later(request: Request) -> Response:
        try:
            return _safe(await endpoint(request))
        except Exception as error:
            return _safe(_worded(error, request))

    return answer_later if inspect.iscoroutinefunction(endpoint) else answer


def _safe(response: Response) -> Response:
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _worded(error: Exception, request: Request) -> Response:
    if isinstance(error, UserError):
        return _json({"error": str(error)}, status=400 if isinstance(error, RequestError) else 404)
    _log.error("reading %s failed", request.url.path, exc_info=error)
    text = "The server could not read this; its log says why. Reload the page, or open another run."
    return _json({"error": text}, status=500)


def _json(content: dict[str, Any], status: int = 200) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # surrogates can come in through an odd file name; they must not break the reply
    body = text.encode("utf-8", "replace")
    return Response(body, status, headers={"Cache-Control": "no-store"}, media_type="application/json")


def _knows(request: Request, tag: str) -> bool:
    return tag in request.headers.get("if-none-match", "")


def _unless_known(request: Request, version: str, content: bytes) -> Response:
    """The content, or a word that the browser's copy is still good."""
    headers = {"Cache-Control": "no-cache", "ETag": f'"{version}"'}
    if _knows(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_BINARY, headers=headers)


def _path(request: Request, name: str) -> int:
    text = request.path_params[name]
    if not _NUMBER.fullmatch(text):
        raise RequestError(f"{name} is a number, 0 or more; {text[:40]!r} came.")
    return int(text)


def _query(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if text != "-1" and not _NUMBER.fullmatch(text):
        raise RequestError(f"{name} is a number, -1 or more; {text[:40]!r} came.")
    return int(text)
