"""The addresses of the section "What did it look at?", below ``retrieval/background/``."""

from __future__ import annotations

from starlette.routing import Route

from explorer.server.http import Endpoint, attachment, json_reply
from explorer.server.posted import Post
from explorer.server.routes import posts, reads
from explorer.server.visitors import caller
from explorer.tabs.retrieve.backgrounds import Backgrounds
from explorer.tabs.retrieve.bodies import Measure


def background_routes(service: Backgrounds) -> list[Route]:
    """Return the routes of the section "Background"."""
    ends: dict[str, Endpoint] = {
        "job/{job}": service.jobs.followed,
        "{key}/numbers.csv": lambda request: attachment(
            service.csv(request.path_params["key"]), "rankscope-background.csv"
        ),
    }
    works: dict[str, Post] = {
        "measure": lambda request, body: json_reply(service.measure(Measure.parse(body), caller(request))),
        "job/{job}/stop": service.jobs.stopped,
    }
    return [*reads(ends, "/retrieval/background/", 400), *posts(works, "/retrieval/background/")]
