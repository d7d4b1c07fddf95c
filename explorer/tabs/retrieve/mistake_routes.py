"""The addresses of the section "Mistakes", below ``retrieval/mistakes/``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import attachment, json_reply
from explorer.server.posted import Post, query_number
from explorer.server.routes import posts, reads
from explorer.tabs.retrieve import mistake_bodies as bodies
from explorer.tabs.retrieve.mistake_csv import mistake_table
from explorer.tabs.retrieve.mistakes import MistakeAnswers

_NUMBERS = ("k", "step", "level")
_TEXTS = ("run", "home", "baseline", "metric", "text")


def mistake_routes(answers: MistakeAnswers) -> list[Route]:
    """Return the routes of the section "Mistakes"."""
    works: dict[str, Post] = {
        "severity": lambda _, body: json_reply(answers.severity(bodies.Mistakes.parse(body))),
        "training": lambda _, body: json_reply(answers.training(bodies.Mistakes.parse(body))),
        "classes": lambda _, body: json_reply(answers.classes(bodies.Classes.parse(body))),
        "queries": lambda _, body: json_reply(answers.queries(bodies.Queries.parse(body))),
        "baseline": lambda _, body: json_reply(answers.baseline(bodies.Baseline.parse(body))),
    }

    def table(request: Request) -> Response:
        name = request.path_params["name"]
        return attachment(mistake_table(answers, name, _asked(request)), f"rankscope-{name}.csv")

    return [*posts(works, "/retrieval/mistakes/"), *reads({"/retrieval/mistakes/{name}.csv": table}, refused=400)]


def _asked(request: Request) -> dict[str, object]:
    given = request.query_params
    texts = {name: given[name][:400] for name in _TEXTS if given.get(name)}
    texts |= {"among": among} if (among := given.get("among")) else {}
    return texts | {name: query_number(request, name, 0, 10**9) for name in _NUMBERS if given.get(name)}
