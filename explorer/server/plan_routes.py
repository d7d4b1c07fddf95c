"""The addresses of plans: ``plans`` lists them, ``plan/{id}`` is the report of one. Read-only."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.http import answering, json_reply, unless_known
from explorer.server.library import Library
from explorer.server.plan_reports import PlanReports
from explorer.server.routes import TOKEN_HEADER
from explorer.server.runs import Runs
from trainers.errors import UserError
from trainers.runs.damage import reading


def plan_routes(library: Library, queue: Runs) -> list[Route]:
    """All of them."""
    reports = PlanReports(library, queue)

    def plan(request: Request) -> Response:
        with reading(request.path_params["id"][:40], passed=UserError):
            run = library.watch(request.path_params["id"])
            about = reports.about(run, request.headers.get(TOKEN_HEADER) or None)
        return unless_known(request, about["revision"], json_reply(about), varies=TOKEN_HEADER)

    table = {"/plans": lambda _request: json_reply({"plans": reports.list()}), "/plan/{id}": plan}
    return [Route(path, answering(end), methods=["GET"]) for path, end in table.items()]
