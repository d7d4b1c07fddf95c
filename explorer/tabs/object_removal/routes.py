"""The addresses of the tab "Remove an object", below ``objects/``. What is posted is a query; it changes nothing."""

from __future__ import annotations

from typing import Literal
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import Endpoint, attachment, json_reply
from explorer.server.posted import WAITING, Post, image_reply, query_number
from explorer.server.routes import posts, reads
from explorer.server.visitors import caller
from explorer.tabs.object_removal import bodies
from explorer.tabs.object_removal.images import SHOWN, UPLOAD, about, encoded
from explorer.tabs.object_removal.score import ScoreJob, csv_table
from explorer.tabs.object_removal.service import Objects

NAME_HEADER = "x-rankscope-name"
SMALLEST = 16


def objects_routes(objects: Objects) -> list[Route]:
    """Return the routes of the tab, for :func:`explorer.server.routes.mounted`."""
    ends = ObjectEndpoints(objects)
    shown: dict[str, Endpoint] = {
        "start": lambda _: json_reply(objects.start()),
        "encoding": lambda _: json_reply({"encoding": objects.encoding()}),
        "detectors": lambda _: json_reply({"detectors": objects.detection.listed()}),
        "open/{job}": objects.openings.followed,
        "images/{dataset}": ends.images,
        "image/{ref}": lambda request: json_reply(about(objects.images.get(request.path_params["ref"]))),
        "image/{ref}/pixels": ends.pixels,
        "filled/{key}": lambda request: image_reply(objects.fills.png(request.path_params["key"]), "png"),
        "score/{job}": objects.scores.followed,
        "score/{job}/csv": ends.csv,
    }
    works: dict[str, Post] = {
        "open": lambda request, body: json_reply(objects.open(bodies.Open.parse(body), caller(request))),
        "open/{job}/stop": objects.openings.stopped,
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
