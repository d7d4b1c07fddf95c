"""The addresses of the section "Mistakes", below ``retrieval/mistakes/``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import answering, json_reply
from explorer.server.posted import BODY, Post, posted, query_number
from explorer.tabs.retrieve import mistake_bodies as bodies
from explorer.tabs.retrieve.mistake_csv import mistake_table
from explorer.tabs.retrieve.mistakes import MistakeAnswers

_AT_ONCE = 4
_NUMBERS = ("k", "step", "level")
_TEXTS = ("run", "home", "baseline", "metric", "text")


def mistake_routes(answers: MistakeAnswers) -> list[Route]:
    """Return the routes of the section "Mistakes"."""
    posts: dict[str, Post] = {
        "severity": lambda _, body: json_reply(answers.severity(bodies.Mistakes.parse(body))),
        "training": lambda _, body: json_reply(answers.training(bodies.Mistakes.parse(body))),
        "classes": lambda _, body: json_reply(answers.classes(bodies.Classes.parse(body))),
        "queries": lambda _, body: json_reply(answers.queries(bodies.Queries.parse(body))),
        "baseline": lambda _, body: json_reply(answers.baseline(bodies.Baseline.parse(body))),
    }

    def table(request: Request) -> Response:
        name = request.path_params["name"]
        content = mistake_table(answers, name, _asked(request))
        headers = {"Content-Disposition": f'attachment; filename="rankscope-{name}.csv"', "Cache-Control": "no-store"}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    routes = [
        Route(f"/retrieval/mistakes/{path}", answering(posted(work, BODY, _AT_ONCE), 400), methods=["POST"])
        for path, work in posts.items()
    ]
    return [*routes, Route("/retrieval/mistakes/{name}.csv", answering(table, 400), methods=["GET"])]


def _asked(request: Request) -> dict[str, object]:
    given = request.query_params
    texts = {name: given[name][:400] for name in _TEXTS if given.get(name)}
    texts |= {"among": among} if (among := given.get("among")) else {}
    return texts | {name: query_number(request, name, 0, 10**9) for name in _NUMBERS if given.get(name)}
