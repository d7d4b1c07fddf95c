"""The addresses of the tab "Remove an object", below ``objects/``. What is posted is a question; it changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.object_removal.fields import Fields
from explorer.object_removal.images import SHOWN, UPLOAD, about, jpeg, png
from explorer.object_removal.openings import MOST
from explorer.object_removal.query import PATIENCE
from explorer.object_removal.score import table
from explorer.object_removal.service import Objects
from explorer.server.http import Endpoint, RequestError, answering, json_reply
from explorer.server.visitors import caller

BODY = 256 * 1024
NAME_HEADER = "x-rankscope-name"
SMALLEST = 16
_AT_ONCE = 4
"""Requests to one address that are worked on at the same time; the others wait."""
_OPENINGS = MOST + _AT_ONCE
"""The same of requests to open a set: they wait where they can be followed and left, and those too many are refused."""
_KEEP = "private, max-age=3600"
Work = Callable[[Request, bytes], Response]


def objects_routes(objects: Objects) -> list[Route]:
    """All of them, for the mount of :func:`explorer.server.routes.routes`."""
    ends = ObjectEndpoints(objects)
    reads: dict[str, Endpoint] = {
        "/objects/start": ends.start,
        "/objects/reading": ends.reading,
        "/objects/detectors": ends.detectors,
        "/objects/open/{ticket}": ends.opening,
        "/objects/photos/{set}": ends.photos,
        "/objects/photo/{ref}": ends.photo,
        "/objects/photo/{ref}/image": ends.image,
        "/objects/filled/{key}": ends.filled,
        "/objects/score/{job}": ends.job,
        "/objects/score/{job}/csv": ends.csv,
        "/objects/runs": ends.runs,
        "/objects/runphoto/{run}/{index}": ends.run_photo,
    }
    posts: dict[str, tuple[Work, int]] = {
        "/objects/open": (ends.open, BODY),
        "/objects/open/{ticket}/leave": (ends.leave, BODY),
        "/objects/upload": (ends.upload, UPLOAD),
        "/objects/detect": (ends.detect, BODY),
        "/objects/name": (ends.name, BODY),
        "/objects/ask": (ends.ask, BODY),
        "/objects/read": (ends.read, BODY),
        "/objects/score": (ends.score, BODY),
        "/objects/score/{job}/stop": (ends.stop, BODY),
        "/objects/neighbours": (ends.neighbours, BODY),
    }
    at_once = {"/objects/open": _OPENINGS}
    ends_of = {path: _posted(work, most, at_once.get(path, _AT_ONCE)) for path, (work, most) in posts.items()}
    return [
        *(Route(path, answering(end, 400), methods=["GET"]) for path, end in reads.items()),
        *(Route(path, answering(end, 400), methods=["POST"]) for path, end in ends_of.items()),
    ]


class ObjectEndpoints:
    """One method per address; errors meant for people are raised, and worded into replies outside."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def start(self, _request: Request) -> Response:
        """Sets, models, fills and the first photo."""
        return json_reply(self._objects.start())

    def reading(self, _request: Request) -> Response:
        """Which models still read which sentences."""
        return json_reply({"reading": self._objects.reading()})

    def detectors(self, _request: Request) -> Response:
        """Finders of objects and what is missing for them: they take seconds to import, and may look for a server."""
        return json_reply({"detectors": self._objects.detecting.listed()})

    def photos(self, request: Request) -> Response:
        """A page of a set's photos."""
        offset, count = _number(request, "offset", 0, 10**7), _number(request, "count", 24, 200)
        return json_reply(self._objects.photos.listing(request.path_params["set"], offset, count))

    def photo(self, request: Request) -> Response:
        """One photo and its objects."""
        return json_reply(about(self._objects.photos.get(request.path_params["ref"])))

    def image(self, request: Request) -> Response:
        """Its pixels."""
        side = min(max(_number(request, "side", 512, 10**6), SMALLEST), SHOWN)
        photo = self._objects.photos.get(request.path_params["ref"])
        pixels = self._objects.photos.shown(photo, side).pixels
        if photo.source == "drawn":  # flat colours: smaller and exact
            return Response(png(pixels), media_type="image/png", headers={"Cache-Control": _KEEP})
        return Response(jpeg(pixels), media_type="image/jpeg", headers={"Cache-Control": _KEEP})

    def filled(self, request: Request) -> Response:
        """A painted picture."""
        content = self._objects.fills.png(request.path_params["key"])
        return Response(content, media_type="image/png", headers={"Cache-Control": _KEEP})

    def job(self, request: Request) -> Response:
        """How far a score is, or its result."""
        return json_reply(self._objects.jobs.get(request.path_params["job"]).json())

    def csv(self, request: Request) -> Response:
        """A finished score, one line per query and model."""
        content = table(self._objects.jobs.get(request.path_params["job"]))
        headers = {"Content-Disposition": 'attachment; filename="odmap.csv"', "Cache-Control": "no-store"}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    def runs(self, _request: Request) -> Response:
        """Runs whose neighbours can be looked at."""
        return json_reply({"runs": self._objects.nearby.runs()})

    def run_photo(self, request: Request) -> Response:
        """A test image of a run."""
        side = min(max(_number(request, "side", 512, 10**6), SMALLEST), SHOWN)
        index = request.path_params["index"]
        if not (index.isascii() and index.isdigit() and len(index) < 8):
            raise RequestError(f"A point is a number, 0 or more; {index[:40]!r} came.")
        pixels = self._objects.nearby.photo(request.path_params["run"], int(index), side)
        return Response(jpeg(pixels), media_type="image/jpeg", headers={"Cache-Control": _KEEP})

    def open(self, request: Request, body: bytes) -> Response:
        """Open a set."""
        return json_reply({"set": self._objects.openings.open(Fields.parse(body), caller(request)).about()})

    def opening(self, request: Request) -> Response:
        """How far a set is that is being opened; nothing where none is, since the page may ask before it begins."""
        job = self._objects.openings.find(request.path_params["ticket"])
        return json_reply(job.json() if job else {})

    def leave(self, request: Request, _body: bytes) -> Response:
        """Give up opening a set, if it is being opened."""
        job = self._objects.openings.find(request.path_params["ticket"])
        if job:
            job.stop.set()
        return json_reply({})

    def upload(self, request: Request, body: bytes) -> Response:
        """Take a visitor's photo."""
        name = "".join(letter for letter in unquote(request.headers.get(NAME_HEADER, "")) if letter.isprintable())
        return json_reply(about(self._objects.photos.add(body, name.strip()[:80])))

    def detect(self, _request: Request, body: bytes) -> Response:
        """Find the objects of a photo."""
        return json_reply(self._objects.detecting.detect(Fields.parse(body)))

    def name(self, _request: Request, body: bytes) -> Response:
        """Say what is in a box."""
        return json_reply(self._objects.detecting.name(Fields.parse(body)))

    def ask(self, _request: Request, body: bytes) -> Response:
        """Take something out and ask the models."""
        fields, answers = Fields.parse(body), self._objects.answers
        return json_reply(answers.answer(answers.read(fields), fields.whole("patience", PATIENCE, 0, PATIENCE)))

    def read(self, _request: Request, body: bytes) -> Response:
        """Have the sentences read that further questions need."""
        return json_reply({"reading": self._objects.read(Fields.parse(body))})

    def score(self, request: Request, body: bytes) -> Response:
        """Begin a score."""
        order = self._objects.scorer.read(Fields.parse(body))
        return json_reply({"job": self._objects.jobs.add(order, caller(request)).id})

    def stop(self, request: Request, _body: bytes) -> Response:
        """Stop a score."""
        self._objects.jobs.stop(request.path_params["job"])
        return json_reply({})

    def neighbours(self, _request: Request, body: bytes) -> Response:
        """A run's neighbours before and after."""
        return json_reply(self._objects.nearby.neighbours(Fields.parse(body)))


def _posted(work: Work, most: int, at_once: int) -> Endpoint:
    """An endpoint that reads at most ``most`` bytes and then works in one of ``at_once`` threads."""
    # a pool of its own: what takes minutes (opening a set) holds up no questions, and readers' threads stay free
    pool = ThreadPoolExecutor(at_once, thread_name_prefix=work.__name__)

    async def end(request: Request) -> Any:
        body = await _body(request, most)
        return await asyncio.get_running_loop().run_in_executor(pool, work, request, body)

    return end


async def _body(request: Request, most: int) -> bytes:
    said = request.headers.get("content-length", "")
    too_large = RequestError(f"At most {_size(most)} can be sent here. Send less.")
    if said.isdigit() and (len(said) > 12 or int(said) > most):
        raise too_large
    parts, total = [], 0
    async for part in request.stream():
        total += len(part)
        if total > most:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def _size(count: int) -> str:
    return f"{count // 2**20} MB" if count >= 2**20 else f"{count // 2**10} KB"


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise RequestError(f"{name} is a number, 0 or more; {text[:40]!r} came.")
    return min(int(text), most)
