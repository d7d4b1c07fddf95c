"""The tab "Remove an object": take an object out of an image and see what each model still says about it.

``assets/object_removal/object_removal.js`` draws it and asks the routes of :mod:`explorer.tabs.object_removal.routes`.
What starts or controls a fine-tuning run goes through a Gradio event of this component, and so through Gradio's own
checks; the reply reaches the page's modules as an event of the window.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import gradio as gr

from explorer.page.blocks import QUIET
from explorer.page.scripted import scripted
from explorer.page.tab import Shared, Tab
from explorer.server.visitors import caller
from explorer.tabs.object_removal.api import object_functions
from explorer.tabs.object_removal.finetune import Finetuning
from explorer.tabs.object_removal.routes import objects_routes
from explorer.tabs.object_removal.service import Objects

_GIVEN = '{ act: (action, payload) => trigger("act", { ...payload, action }) }'
_REPLY = """(said) => {
  window.dispatchEvent(new CustomEvent("rankscope:started", { detail: JSON.parse(said || "{}") }));
  window.dispatchEvent(new CustomEvent("rankscope:changed"));
  return [];
}"""


@dataclass(frozen=True, kw_only=True)
class Answering:
    """The services of the tab: what answers it, and what starts its runs."""

    objects: Objects
    finetuning: Finetuning


def service(shared: Shared) -> Answering:
    """Make the services of the tab."""
    objects = Objects(shared.settings, shared.library, turns=shared.turns)
    return Answering(objects=objects, finetuning=Finetuning(shared.runs, objects.datasets, objects.models))


def build(answering: Answering) -> None:
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

    def act(event: gr.EventData, request: gr.Request) -> str:
        return json.dumps(answering.finetuning.perform(event._data, caller(request)))

    host.act(act, None, said, **QUIET).then(fn=None, inputs=[said], outputs=None, js=_REPLY)


DESCRIPTOR = Tab(
    name="object",
    title="Remove an object",
    order=20,
    assets="object_removal",
    service=service,
    build=build,
    routes=lambda answering: objects_routes(answering.objects),
    functions=lambda answering: object_functions(answering.objects),
    at_once=2,
    close=lambda answering: answering.objects.close(),
    aside="Images, models and fill are chosen at the top of this tab; training is started under Fine-tune this model.",
)
