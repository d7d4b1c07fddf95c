"""The tab "Remove an object": take an object out of an image and see what each model still says about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.tab import Shared, Tab, opened_tab
from explorer.page.words import literal
from explorer.tabs.object_removal import choosing, measuring, mending, offers, removing
from explorer.tabs.object_removal.api import object_functions
from explorer.tabs.object_removal.finetune import Finetuning
from explorer.tabs.object_removal.routes import objects_routes
from explorer.tabs.object_removal.service import Objects
from explorer.tabs.object_removal.view import Showing, Updates


@dataclass(frozen=True, kw_only=True)
class Answering:
    """The services of the tab: what answers it, what starts its runs, and what all tabs share."""

    objects: Objects
    finetuning: Finetuning
    shared: Shared


def service(shared: Shared) -> Answering:
    """Make the services of the tab."""
    objects = Objects(shared.settings, shared.library, turns=shared.turns)
    finetuning = Finetuning(shared.runs, objects.datasets, objects.models)
    return Answering(objects=objects, finetuning=finetuning, shared=shared)


def build(answering: Answering) -> None:
    """Lay out the sections of the tab, from what is chosen to the fine-tuning, and bind their events."""
    objects, shared = answering.objects, answering.shared
    showing = Showing(objects)
    chooser, remover = choosing.Choosing(showing, shared.photographs, shared.shown), removing.Removing(showing)
    menus = choosing.menus()
    about = parts.sentence("Opening the images and the models …")
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            lacking = removing.missing()
        with gr.Column(min_width=320):
            more = choosing.more()
    more.work.render()
    more.said.render()
    strip = choosing.strip()
    view, finding = removing.view()
    ask = removing.wire(remover, showing, menus, view, finding)
    wiring = choosing.Wiring(chooser, menus, strip, view, about, ask)
    wiring.menus(more.work)
    wiring.strip()
    wiring.more(more)
    opening = measuring.Opening(image=chooser.open_image, bind=wiring.show)
    with gr.Column(elem_classes="rs-part") as measured:
        measuring.build(measuring.Measuring(objects, shared.shown), menus, opening)
    with gr.Column(elem_classes="rs-part") as tuned:
        follow, trained = mending.build(objects, answering.finetuning, menus.dataset)
    wiring.follow(follow, more.work)
    beside = [view.finding, finding.detector, view.own, strip.home, strip.images, measured, tuned]
    view.shown.change(remover.beside, view.shown, beside, **QUIET)
    pair = [menus.model, menus.other]
    real = gr.Textbox(visible=False)
    asked = view.real.click(remover.real, [view.shown, *pair], [*pair, real], **QUIET)
    wiring.settle(asked)
    asked.success(fn=None, inputs=real, js=removing.TO_MISSING)

    def begin(*given: Any) -> Updates:
        *menus_and_view, model = given
        return [*chooser.begin(*menus_and_view), _lacking(objects), mending.trainable(objects, model)]

    filled = [menus.dataset, *pair, *wiring.new, lacking, trained]
    ask(opened_tab().select(begin, [view.shown, *menus.each, trained], filled, **QUIET))


def _lacking(objects: Objects) -> str:
    lines = [f"- **{literal(title)}** {literal(why, 1000)}" for title, why in offers.missing(objects)]
    return "\n".join(lines) or "Everything is installed."


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
