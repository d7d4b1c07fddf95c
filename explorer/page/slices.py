"""The page's part of training on ZeroGPU: while it is open it asks for the next slice of the run that is viewed.

It asks by a Gradio event: the Hub's frame gives Gradio's scripts the headers by which ZeroGPU knows the visitor, whose
quota the slice takes.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.scripted import scripted
from explorer.server.visitors import caller
from trainers.errors import UserError

if TYPE_CHECKING:
    from explorer.server.slices import Slices

_GIVEN = '{ ask: (id, token, cpu) => trigger("ask", { id, token, cpu }) }'
_ANSWER = """(said) => {
  window.dispatchEvent(new CustomEvent("rankscope:slice", { detail: JSON.parse(said || "{}") }));
  return [];
}"""
AT_ONCE = 16
"""Visitors whose slices run, or wait for a GPU, at the same time."""


def asking(slices: Slices) -> None:
    """Add what asks, and says what came of it."""
    said = gr.Textbox(visible=False, label="Answer")
    host = scripted("page/slices.js", "rs-slices rs-runs", "Training on a GPU", _GIVEN, elem_id="rs-slices")

    def ask(event: gr.EventData, request: gr.Request) -> str:
        wanted = event._data if isinstance(event._data, dict) else {}
        run_id, token = str(wanted.get("id") or ""), str(wanted.get("token") or "")
        try:
            if wanted.get("cpu"):
                answer = {"said": slices.on_cpu(run_id, token, caller(request)), "over": True}
            else:
                answer = asdict(slices.go_on(run_id, token, caller(request)))
        except (UserError, OSError) as error:
            answer = {"said": str(error), "refused": True}
        return json.dumps({"id": run_id, **answer})

    host.ask(ask, None, said, concurrency_limit=AT_ONCE, **QUIET).then(fn=None, inputs=[said], outputs=None, js=_ANSWER)
