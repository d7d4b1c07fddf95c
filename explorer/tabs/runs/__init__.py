"""The Runs tab: every run with its state, size and headline numbers; open, resume, download, delete.

``assets/runs/runs.js`` draws the list from ``GET runs`` while somebody looks at it. What changes a run goes through a
Gradio event of this component, and so through Gradio's own checks.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.run_buttons import acting
from explorer.page.tab import Shared, Tab
from explorer.server.body import Body, text
from explorer.server.http import attachment, json_reply
from explorer.server.routes import TOKEN_HEADER, posts, reads
from explorer.server.states import Json
from explorer.server.visitors import caller
from explorer.tabs.runs.run_list import runs, runs_csv
from trainers.runs.label import NAME, NOTE, TAG, Label


class _Label(Body):
    name: Annotated[str, text(NAME, 0)] = ""
    note: Annotated[str, text(NOTE, 0)] = ""
    tags: list[Annotated[str, text(TAG)]] = Field(default_factory=list)


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

    def of(request: Request) -> list[Json]:
        return runs(shared.library, shared.runs, request.headers.get(TOKEN_HEADER) or None, caller(request))

    def listed(request: Request) -> Response:
        return json_reply({"runs": of(request), "lost": shared.runs.lost})

    def table(request: Request) -> Response:
        return attachment(runs_csv(of(request)), "rankscope-runs.csv")

    def label(request: Request, body: bytes) -> Response:
        asked = _Label.parse(body)
        label = Label(name=asked.name or "", note=asked.note or "", tags=tuple(asked.tags))
        kept = shared.runs.label(
            request.path_params["id"], request.headers.get(TOKEN_HEADER, ""), label, caller(request)
        )
        return json_reply(asdict(kept))

    return [*posts({"/run/{id}/label": label}), *reads({"/runs": listed, "/runs.csv": table})]


DESCRIPTOR = Tab(name="runs", title="Runs", order=80, build=build, routes=routes, trains=True)
