"""The tab "Remove an object": take an object out of an image and see what each model still says about it.

``assets/object_removal/object_removal.js`` draws it and asks the routes of :mod:`explorer.object_removal.routes`. What
starts or controls a fine-tuning run goes through a Gradio event of this component, and so through Gradio's own checks;
the reply reaches the page's modules as an event of the window.
"""

from __future__ import annotations

import json

import gradio as gr

from explorer.object_removal.finetune import Finetuning
from explorer.page.blocks import QUIET
from explorer.page.scripted import scripted
from explorer.page.tabs.base import TabContext, TabDescriptor
from explorer.server.visitors import caller

_GIVEN = '{ act: (action, payload) => trigger("act", { ...payload, action }) }'
_REPLY = """(said) => {
  window.dispatchEvent(new CustomEvent("rankscope:started", { detail: JSON.parse(said || "{}") }));
  window.dispatchEvent(new CustomEvent("rankscope:changed"));
  return [];
}"""


def build(context: TabContext) -> None:
    """Add the tab's host and its events."""
    said = gr.Textbox(visible=False, label="Reply")
    host = scripted(
        "object_removal/object_removal.js",
        "rs-object",
        "The images",
        _GIVEN,
        loading="Opening the images …",
        elem_id="object-view",
    )
    starter = Finetuning(context.runs, context.objects.datasets, context.objects.models)

    def act(event: gr.EventData, request: gr.Request) -> str:
        return json.dumps(starter.perform(event._data, caller(request)))

    host.act(act, None, said, **QUIET).then(fn=None, inputs=[said], outputs=None, js=_REPLY)


DESCRIPTOR = TabDescriptor(
    name="object",
    title="Remove an object",
    order=20,
    build=build,
    aside="Images, models and fill are chosen at the top of this tab; training is started under Fine-tune this model.",
)
