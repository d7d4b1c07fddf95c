"""The addresses of plans: ``plans`` lists them, ``plan/{id}`` is the report of one. Read-only.

``plan/{id}/table.tex`` is its table as LaTeX.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.tab import Shared
from explorer.server.http import attachment, json_reply, unless_known
from explorer.server.routes import TOKEN_HEADER, about_run, reads
from explorer.server.run import Run
from explorer.server.visitors import caller
from explorer.tabs.compare.reports import PlanReports


def plan_routes(shared: Shared) -> list[Route]:
    """Return the routes of plans."""
    reports = PlanReports(shared.library, shared.runs)

    def plan(run: Run, request: Request) -> Response:
        about = reports.about(run, request.headers.get(TOKEN_HEADER) or None, caller(request))
        return unless_known(request, about["revision"], json_reply(about), varies=f"{TOKEN_HEADER}, cookie")

    def table(run: Run, request: Request) -> Response:
        asked = request.query_params
        text = reports.latex(run, asked.get("part", ""), asked.get("metrics", "").split(",")[:200])
        return attachment(text, f"rankscope-{run.id}-table.tex")

    plans = {"/plans": lambda _request: json_reply({"plans": reports.list()})}
    return reads(
        {
            **plans,
            "/plan/{id}": about_run(shared.library, plan),
            "/plan/{id}/table.tex": about_run(shared.library, table),
        }
    )
