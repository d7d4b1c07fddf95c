"""The Compare tab: the runs of a sweep and what they say together, drawn by ``assets/compare``.

The modules fetch the report of the plan that is open (see :mod:`explorer.server.plan_routes`).
"""

from __future__ import annotations

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.run_buttons import ACT, CHANGED, perform
from explorer.page.scripted import scripted
from explorer.page.tabs.base import TabContext, TabDescriptor
from explorer.server.visitors import caller


def build(context: TabContext) -> None:
    """Add the view to the tab."""
    said = gr.HTML("", elem_id="rs-compare-said")
    view = scripted(
        "compare/compare.js",
        "rs-comparison",
        "The comparison",
        ACT,
        loading="Opening the comparison …",
        elem_id="compare-view",
        public=context.runs.public,
    )

    def act(event: gr.EventData, request: gr.Request) -> str:
        return perform(context.runs, event._data, caller(request))

    view.act(act, None, said, **QUIET).then(fn=None, js=CHANGED)


DESCRIPTOR = TabDescriptor(name="compare", title="Compare", order=5, build=build, trains=True, plans=True)
