"""The addresses of the tab "Remove an object", below ``objects/``: images, tables, and what is asked about work."""

from __future__ import annotations

from typing import Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import Endpoint, attachment, json_reply
from explorer.server.posted import Post, image_reply, query_number
from explorer.server.routes import posts, reads
from explorer.tabs.object_removal.images import SHOWN, encoded
from explorer.tabs.object_removal.score import csv_table
from explorer.tabs.object_removal.service import Objects

SMALLEST = 16


def objects_routes(objects: Objects) -> list[Route]:
    """Return the routes of the tab, for :func:`explorer.server.routes.mounted`."""

    def pixels(request: Request) -> Response:
        image = objects.images.get(request.path_params["ref"])
        # flat colours: as PNG smaller and exact
        kind: Literal["png", "jpeg"] = "png" if image.source == "drawn" else "jpeg"
        side = min(max(query_number(request, "side", SHOWN, SHOWN), SMALLEST), SHOWN)
        return image_reply(encoded(objects.images.shown(image, side).pixels, kind), kind)

    def csv(request: Request) -> Response:
        return attachment(csv_table(objects.scores.get(request.path_params["job"])), "odmap.csv")

    shown: dict[str, Endpoint] = {
        "image/{ref}/pixels": pixels,
        "filled/{key}": lambda request: image_reply(objects.fills.png(request.path_params["key"]), "png"),
        "encoding": lambda _: json_reply({"encoding": objects.encoding()}),
        "open/{job}": objects.openings.followed,
        "score/{job}": objects.scores.followed,
        "score/{job}/csv": csv,
    }
    works: dict[str, Post] = {"open/{job}/stop": objects.openings.stopped, "score/{job}/stop": objects.scores.stopped}
    return [*reads(shown, "/objects/", 400), *posts(works, "/objects/")]
