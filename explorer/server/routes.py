"""Routes that the page's modules fetch: run lists, polls, frames, thumbnails, neighbours, downloads; all but the wish
for a refined map are read-only.

The routes are handed to Gradio (``launch(app_kwargs={"routes": routes(...)})``) and come before its own. The endpoints
are plain functions, so Starlette runs them in threads and the event loop stays free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route

from explorer.server import controlled_errors, retrieve, run_list, view
from explorer.server.baselines import Baselines
from explorer.server.downloads import Downloads
from explorer.server.http import Endpoint, RequestError, answering, json_reply, unless_known
from explorer.server.library import Library
from explorer.server.posted import AT_ONCE, BODY, posted
from explorer.server.run import Run
from explorer.settings import ASSETS
from trainers.errors import RunError, UserError
from trainers.runs.damage import reading

if TYPE_CHECKING:
    from explorer.layout.supervisor import LayoutSupervisor
    from explorer.server.runs import Runs

PREFIX = "/gradio_api/rankscope"
FOREVER = "public, max-age=31536000, immutable"
TOKEN_HEADER = "x-rankscope-token"
_ASSET = re.compile(r"(?:[a-z_]+/){0,2}[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(?:js|css|svg)")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_BINARY = "application/octet-stream"
_NUMBER = re.compile(r"[0-9]{1,9}")


def routes(
    library: Library, layout: LayoutSupervisor, queue: Runs, assets: Path = ASSETS, more: Sequence[Route] = ()
) -> list[Route | Mount]:
    """All routes, under ``/gradio_api/rankscope``.

    Args:
        layout: told which runs are being viewed.
        queue: knows each run's position in the queue.
        assets: folder of the page's own modules and styles.
        more: further routes under the same prefix; they come first.
    """
    ends = Endpoints(library, layout, queue, assets)
    baselines = Baselines(library)

    def runs(request: Request) -> Response:
        return json_reply({"runs": run_list.runs(library, queue, request.headers.get(TOKEN_HEADER) or None)})

    table: Mapping[str, Endpoint] = {
        "/assets/{name:path}": ends.asset,
        "/runs": runs,
        "/start": lambda _request: json_reply({"id": run_list.start(library)}),
        "/controlled_errors": lambda _request: json_reply(controlled_errors.table()),
        "/run/{id}": ends.of_one_run(lambda run, _request: json_reply(view.about(run))),
        "/run/{id}/poll": ends.of_one_run(ends.poll),
        "/run/{id}/frame/{k}": ends.of_one_run(ends.frame),
        "/run/{id}/frameinfo/{k}": ends.of_one_run(
            lambda run, request: json_reply(view.frame_info(run, _path(request, "k")))
        ),
        "/run/{id}/baselines": ends.of_one_run(lambda run, _request: json_reply(baselines.choices(run))),
        "/run/{id}/baseline/{other}": ends.of_one_run(
            lambda run, request: json_reply(
                baselines.numbers(run, request.path_params["other"], _query(request, "row", 0))
            )
        ),
        "/run/{id}/sheet/{name}": ends.of_one_run(_sheet),
        "/run/{id}/neighbours/{k}/{index}": ends.of_one_run(
            lambda run, request: json_reply(
                retrieve.neighbours(library, run, _path(request, "k"), _path(request, "index"))
            )
        ),
        "/run/{id}/download/{kind}": Downloads(library).answer,
        "/{rest:path}": _missing,
    }

    def refine(request: Request, _body: bytes) -> Response:
        said = queue.refine(request.path_params["id"], request.headers.get(TOKEN_HEADER, ""))
        layout.watch(request.path_params["id"])
        return json_reply({"said": said})

    own = [Route("/run/{id}/refine", answering(posted(refine, BODY, AT_ONCE)), methods=["POST"])]
    own += [Route(path, answering(end), methods=["GET"]) for path, end in table.items()]
    return [Mount(PREFIX, routes=[*more, *own])]


class Endpoints:
    """One method per route; user errors are raised, and become replies outside."""

    def __init__(self, library: Library, layout: LayoutSupervisor, queue: Runs, assets: Path) -> None:
        self._library = library
        self._layout = layout
        self._queue = queue
        self._assets = assets

    def asset(self, request: Request) -> Response:
        """A module, style or drawing of the page."""
        name = request.path_params["name"]
        path = self._assets / name
        if not _ASSET.fullmatch(name) or not path.is_file():
            raise RunError(f"There is no asset {name[:80]!r}.")
        about = path.stat()
        version = f"{about.st_mtime_ns:x}-{about.st_size:x}"
        return unless_known(request, version, FileResponse(path, media_type=_TYPES[path.suffix]))

    def poll(self, run: Run, request: Request) -> Response:
        """What is new."""
        after, row = _query(request, "after", -1), _query(request, "row", 0)
        if not run.recorded:
            self._layout.watch(run.id)
        return json_reply(view.poll(run, self._queue, after, row))

    def frame(self, run: Run, request: Request) -> Response:
        """The maps of all arms, as binary coordinates."""
        k = _path(request, "k")
        content = self._library.coordinates(run, k)
        if run.recorded or run.folder.state().phase == "finished":
            return Response(content, media_type=_BINARY, headers={"Cache-Control": FOREVER})
        # a run that can be resumed may write a frame of the same number again
        return unless_known(request, self._library.version(run, k), Response(content, media_type=_BINARY))

    def of_one_run(self, endpoint: Callable[[Run, Request], Response]) -> Callable[[Request], Response]:
        """Wrap an endpoint about one run: errors from a damaged run become one sentence about that run."""

        def answer(request: Request) -> Response:
            with reading(request.path_params["id"][:40], passed=UserError):
                return endpoint(self._library.watch(request.path_params["id"]), request)

        return answer


def _sheet(run: Run, request: Request) -> Response:
    """One sheet of thumbnails."""
    name = request.path_params["name"]
    number, _, suffix = name.partition(".")
    if suffix != "webp" or not _NUMBER.fullmatch(number):
        raise RequestError(f"A thumbnail sheet is called 0.webp, 1.webp and so on; {name[:40]!r} was asked for.")
    return Response(run.folder.sheet(int(number)), media_type="image/webp", headers={"Cache-Control": FOREVER})


def _missing(_request: Request) -> Response:
    raise RunError("There is nothing at this address.")


def _path(request: Request, name: str) -> int:
    text = request.path_params[name]
    if not _NUMBER.fullmatch(text):
        raise RequestError(f"{name} is a number, 0 or more; got {text[:40]!r}.")
    return int(text)


def _query(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if text != "-1" and not _NUMBER.fullmatch(text):
        raise RequestError(f"{name} is a number, -1 or more; got {text[:40]!r}.")
    return int(text)
