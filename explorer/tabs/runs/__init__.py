"""The Runs tab: every run with its state, size and headline numbers; open, resume, download, delete.

``assets/runs/runs.js`` draws the list from ``GET runs`` while somebody looks at it. What changes a run goes through a
Gradio event of this component, and so through Gradio's own checks.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.run_buttons import acting
from explorer.page.tab import Shared, Tab
from explorer.server.http import json_reply
from explorer.server.routes import TOKEN_HEADER, reads
from explorer.tabs.runs.run_list import runs


def build(shared: Shared) -> None:
    """Add the list to the tab."""
    acting(
        shared.runs,
        "runs/runs.js",
        "rs-runs",
        "The list of runs",
        said="rs-runs-said",
        loading="Reading the runs …",
        elem_id="rs-runs-list",
    )


def routes(shared: Shared) -> list[Route]:
    """Return the route of the list."""

    def listed(request: Request) -> Response:
        return json_reply({"runs": runs(shared.library, shared.runs, request.headers.get(TOKEN_HEADER) or None)})

    return reads({"/runs": listed})


DESCRIPTOR = Tab(name="runs", title="Runs", order=80, build=build, routes=routes, trains=True)
