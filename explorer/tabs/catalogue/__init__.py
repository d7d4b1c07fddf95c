"""The Catalogue tab: every loss, metric, model and method with its paper, made from the descriptors.

``assets/catalogue/catalogue.js`` draws the entries from ``GET catalogue``; Gradio's Markdown sets the formulas of those
that are opened.
"""

from __future__ import annotations

from dataclasses import asdict

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.scripted import scripted
from explorer.page.tab import Shared, Tab
from explorer.server.http import json_reply
from explorer.server.routes import reads
from explorer.tabs.catalogue.entries import sections
from explorer.tabs.catalogue.responses import response

_GIVEN = '{ typeset: () => trigger("typeset") }'
_LATEX: list[dict[str, str | bool]] = [
    {"left": "$$", "right": "$$", "display": True},
    {"left": "$", "right": "$", "display": False},
]


def build(_shared: Shared) -> None:
    """Add the catalogue to the tab, and a hidden sheet on which the texts of opened entries are typeset."""
    with gr.Column(elem_id="rs-catalogue"):
        host = scripted(
            "catalogue/catalogue.js", "rs-entries", "The catalogue", _GIVEN, loading="Reading the catalogue …"
        )
        sheet = gr.Markdown(latex_delimiters=_LATEX, elem_id="rs-sheet")
        host.typeset(fn=None, outputs=[sheet], js="() => [window.rankscopeSheet]")


def routes(_shared: Shared) -> list[Route]:
    """Return the routes of the entries, and of what a loss does while an image moves."""

    def catalogue(_request: Request) -> Response:
        return json_reply({"sections": [{"title": title, "entries": entries} for title, entries in sections()]})

    def responded(request: Request) -> Response:
        return json_reply(asdict(response(request.path_params["loss"])))

    return reads({"/catalogue": catalogue, "/catalogue/response/{loss}": responded})


DESCRIPTOR = Tab(
    name="catalogue",
    title="Catalogue",
    order=90,
    build=build,
    routes=routes,
    aside="Nothing is started here. The settings of a comparison stand in this place while Live or Runs is open.",
)
