"""The Runs tab: every run with its state, size and headline numbers; open, resume, download, delete.

``assets/runs/runs.js`` draws the list from ``GET runs`` while somebody looks at it. What changes a run goes through a
Gradio event of this component, and so through Gradio's own checks.
"""

from __future__ import annotations

import json

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.inspection import failed
from explorer.page.run_buttons import attempt
from explorer.page.scripted import scripted
from explorer.page.tabs.base import TabContext, TabDescriptor
from explorer.server.runs import Runs
from explorer.server.visitors import NOBODY, Caller, caller

_GIVEN = '{ act: (action, id, token) => trigger("act", { action, id, token }), public: props.public }'
_CHANGED = "() => { window.dispatchEvent(new CustomEvent('rankscope:changed')); return []; }"


def build(context: TabContext) -> None:
    """Add the list to the tab."""
    said = gr.HTML("", elem_id="rs-runs-said")
    listing = scripted(
        "runs/runs.js",
        "rs-runs",
        "The list of runs",
        _GIVEN,
        loading="Reading the runs …",
        elem_id="rs-runs-list",
        public=context.runs.public,
    )

    def act(event: gr.EventData, request: gr.Request) -> str:
        return perform(context.runs, event._data, caller(request))

    listing.act(act, None, said, **QUIET).then(fn=None, js=_CHANGED)


def perform(runs: Runs, data: object, asking: Caller = NOBODY) -> str:
    """Run an action of the list; returns a sentence as HTML. The data come from a browser and are not trusted."""
    asked = data if isinstance(data, dict) else {}
    act = runs.acts(asking).get(str(asked.get("action")))
    if act is None:
        return failed(f"A run can be paused, resumed, stopped or deleted; got {json.dumps(asked)[:80]}.")
    return attempt(act, str(asked.get("id") or ""), str(asked.get("token") or ""))


DESCRIPTOR = TabDescriptor(name="runs", title="Runs", order=80, build=build, trains=True)
