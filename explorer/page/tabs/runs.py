"""The Runs tab: every run with its state, size and headline numbers; open, resume, download, delete.

``assets/runs/runs.js`` draws the list from ``GET runs`` while somebody looks at it. What changes a run goes through a
Gradio event of this component, and so through Gradio's own checks.
"""

from __future__ import annotations

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.run_buttons import ACT, CHANGED, perform
from explorer.page.scripted import scripted
from explorer.page.tabs.base import TabContext, TabDescriptor
from explorer.server.visitors import caller


def build(context: TabContext) -> None:
    """Add the list to the tab."""
    said = gr.HTML("", elem_id="rs-runs-said")
    listing = scripted(
        "runs/runs.js",
        "rs-runs",
        "The list of runs",
        ACT,
        loading="Reading the runs …",
        elem_id="rs-runs-list",
        public=context.runs.public,
    )

    def act(event: gr.EventData, request: gr.Request) -> str:
        return perform(context.runs, event._data, caller(request))

    listing.act(act, None, said, **QUIET).then(fn=None, js=CHANGED)


DESCRIPTOR = TabDescriptor(name="runs", title="Runs", order=80, build=build, trains=True)
