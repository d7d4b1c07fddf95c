"""The addresses of the tab "Remove an object", below ``objects/``. What is posted is a query; it changes nothing."""

from __future__ import annotations

from typing import Literal
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import Endpoint, attachment, json_reply
from explorer.server.posted import AT_ONCE, BODY, WAITING, Post, image_reply, query_number
from explorer.server.routes import posts, reads
from explorer.server.visitors import caller
from explorer.tabs.object_removal import bodies
from explorer.tabs.object_removal.images import SHOWN, UPLOAD, about, encoded
from explorer.tabs.object_removal.openings import MOST
from explorer.tabs.object_removal.score import ScoreJob, csv_table
from explorer.tabs.object_removal.service import Objects

NAME_HEADER = "x-rankscope-name"
SMALLEST = 16
_OPENINGS = MOST + AT_ONCE
"""Requests to open a dataset that may wait: in a queue where they can be followed and left."""


def objects_routes(objects: Objects) -> list[Route]:
    """Return the routes of the tab, for :func:`explorer.server.routes.mounted`."""
    ends = ObjectEndpoints(objects)
    shown: dict[str, Endpoint] = {
        "start": lambda _: json_reply(objects.start()),
        "encoding": lambda _: json_reply({"encoding": objects.encoding()}),
        "detectors": lambda _: json_reply({"detectors": objects.detection.listed()}),
        "open/{ticket}": ends.opening,
        "images/{dataset}": ends.images,
        "image/{ref}": lambda request: json_reply(about(objects.images.get(request.path_params["ref"]))),
        "image/{ref}/pixels": ends.pixels,
        "filled/{key}": lambda request: image_reply(objects.fills.png(request.path_params["key"]), "png"),
        "score/{job}": objects.scores.followed,
        "score/{job}/csv": ends.csv,
    }
    works: dict[str, Post] = {
        "open/{ticket}/leave": ends.leave,
        "detect": lambda _, body: json_reply(objects.detection.detect(bodies.Detect.parse(body))),
        "name": lambda _, body: json_reply(objects.detection.name(bodies.NameBox.parse(body))),
        "query": lambda _, body: json_reply(objects.answers.answer(bodies.Query.parse(body))),
        "encode": lambda _, body: json_reply({"encoding": objects.encode(bodies.Encode.parse(body))}),
        "score": ends.score,
        "score/{job}/stop": objects.scores.stopped,
    }
    return [
        *reads(shown, "/objects/", 400),
        *posts(works, "/objects/"),
        *posts({"/objects/open": ends.open}, "", BODY, _OPENINGS),
        *posts({"/objects/upload": ends.upload}, "", UPLOAD, WAITING, objects.images.turns.admitted),
    ]


class ObjectEndpoints:
    """The endpoints that take more than a line; errors meant for people are raised, and become replies outside."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def images(self, request: Request) -> Response:
        """Answer with a page of a dataset's images."""
        offset, count = query_number(request, "offset", 0, 10**7), query_number(request, "count", 24, 200)
        return json_reply(self._objects.images.listing(request.path_params["dataset"], offset, count))

    def pixels(self, request: Request) -> Response:
        """Answer with the pixels of an image."""
        image = self._objects.images.get(request.path_params["ref"])
        # flat colours: as PNG smaller and exact
        kind: Literal["png", "jpeg"] = "png" if image.source == "drawn" else "jpeg"
        return image_reply(encoded(self._objects.images.shown(image, _side(request)).pixels, kind), kind)

    def csv(self, request: Request) -> Response:
        """Answer with a finished score, one line per query and model."""
        return attachment(csv_table(self._objects.scores.get(request.path_params["job"])), "odmap.csv")

    def open(self, request: Request, body: bytes) -> Response:
        """Open a dataset."""
        return json_reply({"dataset": self._objects.openings.open(bodies.Open.parse(body), caller(request)).about()})

    def opening(self, request: Request) -> Response:
        """Answer with the progress of opening a dataset; empty where none is: the page may ask before it begins."""
        job = self._objects.openings.jobs.find(request.path_params["ticket"])
        return json_reply({**job.json(), "result": None} if job else {})

    def leave(self, request: Request, _body: bytes) -> Response:
        """Stop opening a dataset, if it is being opened."""
        jobs = self._objects.openings.jobs
        job = jobs.find(request.path_params["ticket"])
        if job:
            jobs.stop(job)
        return json_reply({})

    def upload(self, request: Request, body: bytes) -> Response:
        """Keep a visitor's image."""
        name = "".join(letter for letter in unquote(request.headers.get(NAME_HEADER, "")) if letter.isprintable())
        return json_reply(about(self._objects.images.add(body, name.strip()[:80], caller(request).address)))

    def score(self, request: Request, body: bytes) -> Response:
        """Begin a score."""
        asked = self._objects.scorer.check(bodies.Score.parse(body))
        return json_reply({"job": self._objects.scores.add(ScoreJob(asked=asked, caller=caller(request))).id})


def _side(request: Request) -> int:
    return min(max(query_number(request, "side", 512, 10**6), SMALLEST), SHOWN)
