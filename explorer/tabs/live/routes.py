"""The addresses of one run: what is new, its maps, images, neighbours and baselines; all but the wish for a refined map
are read-only."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.tab import Shared
from explorer.server.http import Endpoint, RequestError, json_body, json_bytes, json_reply, unless_known
from explorer.server.plain import finite
from explorer.server.routes import about_run, posts, reads, token_of
from explorer.server.run import Run
from explorer.server.tasks import Tasks
from explorer.server.visitors import caller
from explorer.tabs.live import controlled_errors, view
from explorer.tabs.live.baselines import Baselines
from explorer.tabs.live.first_run import start
from explorer.tabs.live.neighbours import neighbours, untrained_rows
from explorer.tabs.live.suggestion import ahead_at, suggested
from trainers.data.lru_cache import Cache
from trainers.progress import Progress
from trainers.retrieval.untrained.words import untrained_json
from trainers.runs.database import written

SHARED = 0.25
"""Seconds that viewers of one run share an answer to what is new."""
MOST_SCORED = 8
"""Runs whose rows without training wait or are scored."""
POLLED = 4 << 20
"""Bytes of these answers that are kept."""
FOREVER = "public, max-age=31536000, immutable"
_BINARY = "application/octet-stream"
_NUMBER = re.compile(r"[0-9]{1,9}")


def live_routes(shared: Shared) -> list[Route]:
    """Return the routes of the tab Live."""
    ends = RunEndpoints(shared)
    of_run = partial(about_run, shared.library)
    table: dict[str, Endpoint] = {
        "/start": ends.start,
        "/run/{id}": of_run(lambda run, _request: json_reply(view.about(run))),
        "/run/{id}/controlled_errors": of_run(lambda run, _request: json_reply(controlled_errors.table(run))),
        "/run/{id}/poll": of_run(ends.poll),
        "/run/{id}/frame/{k}": of_run(ends.frame),
        "/run/{id}/frameinfo/{k}": of_run(lambda run, request: json_reply(view.frame_info(run, _path(request, "k")))),
        "/run/{id}/files": of_run(lambda run, _request: json_reply(view.files(run))),
        "/run/{id}/baselines": of_run(ends.baselines),
        "/run/{id}/baseline/{other}": of_run(ends.baseline),
        "/run/{id}/sheet/{name}": of_run(_sheet),
        "/run/{id}/neighbours/{k}/{index}": of_run(ends.neighbours),
        "/run/{id}/untrained/{index}": of_run(_untrained_rows),
        "/run/{id}/suggestion/{k}": of_run(ends.suggestion),
    }
    jobs = ends.scoring
    return [
        *posts({"/run/{id}/refine": ends.refine, "/run/{id}/untrained": ends.untrained}),
        *posts({"/scoring/{job}/stop": jobs.stopped}, ""),
        *reads({"/scoring/{job}": jobs.followed}, "", 400),
        *reads(table),
    ]


class RunEndpoints:
    """The endpoints that take more than a line; user errors are raised, and become replies outside."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._baselines = Baselines(shared.library)
        self.scoring = Tasks(noun="rows without training", most=MOST_SCORED, each=1)
        self._polls: Cache[bytes] = Cache(limit=POLLED, cost=len)

    def start(self, request: Request) -> Response:
        """Answer with the run that this visitor sees first."""
        theirs = partial(self._shared.runs.is_of, token=token_of(request), caller=caller(request))
        return json_reply({"id": start(self._shared.library, theirs)})

    def poll(self, run: Run, request: Request) -> Response:
        """Answer with what is new."""
        after, row = _query(request, "after", -1), _query(request, "row", 0)
        if not run.recorded:
            self._shared.layout.watch(run.id)
        now = int(time.monotonic() / SHARED)  # the stamp of a file alone misses writes of the same moment
        news = (run.id, after, row, written(run.folder.path), now)
        body = self._polls.get(news, lambda: json_body(view.poll(run, self._shared.runs, after, row)))
        return json_bytes(body)

    def frame(self, run: Run, request: Request) -> Response:
        """Answer with the maps of all arms, as binary coordinates."""
        k = _path(request, "k")
        content = self._shared.library.coordinates(run, k)
        if run.recorded or run.folder.state().phase == "finished":
            return Response(content, media_type=_BINARY, headers={"Cache-Control": FOREVER})
        # a run that can be resumed may write a frame of the same number again
        version = self._shared.library.version(run, k)
        return unless_known(request, version, Response(content, media_type=_BINARY))

    def baselines(self, run: Run, _request: Request) -> Response:
        """Answer with the runs that can be pinned beside it."""
        return json_reply(self._baselines.choices(run))

    def baseline(self, run: Run, request: Request) -> Response:
        """Answer with the numbers of one of them."""
        other = request.path_params["other"]
        return json_reply(self._baselines.numbers(run, other, _query(request, "row", 0)))

    def neighbours(self, run: Run, request: Request) -> Response:
        """Answer with the results of one image."""
        k, index = _path(request, "k"), _path(request, "index")
        found = neighbours(self._shared.library, run, k, index)
        return json_reply(found | {"ahead": ahead_at(self._shared.library, run, k)})

    def suggestion(self, run: Run, request: Request) -> Response:
        """Answer with the image that is shown first."""
        return json_reply({"index": suggested(self._shared.library, run, _path(request, "k"))})

    def untrained(self, request: Request, _body: bytes) -> Response:
        """Score the rows without training that a run lacks, in the background."""
        folder = self._shared.runs.controlled(request.path_params["id"], token_of(request), caller(request))

        def work(tell: Progress) -> dict[str, Any]:
            from trainers.retrieval.untrained.of_run import score_run  # it imports encoders

            score_run(folder, tell)
            return finite(untrained_json(folder))

        return json_reply(self.scoring.reply(work, caller(request)))

    def refine(self, request: Request, _body: bytes) -> Response:
        """Ask for a refined map."""
        run_id = request.path_params["id"]
        said = self._shared.runs.refine(run_id, token_of(request), caller(request))
        self._shared.layout.watch(run_id)
        return json_reply({"said": said})


def _untrained_rows(run: Run, request: Request) -> Response:
    """Answer with the nearest images of one without training, a row a way."""
    return json_reply(untrained_rows(run, _path(request, "index")))


def _sheet(run: Run, request: Request) -> Response:
    """Answer with one sheet of thumbnails."""
    name = request.path_params["name"]
    number, _, suffix = name.partition(".")
    if suffix != "webp" or not _NUMBER.fullmatch(number):
        raise RequestError(f"A thumbnail sheet is called 0.webp, 1.webp and so on; {name[:40]!r} was asked for.")
    return Response(run.folder.sheet(int(number)), media_type="image/webp", headers={"Cache-Control": FOREVER})


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
