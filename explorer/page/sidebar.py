"""The settings of a run, from top to bottom like a sentence: images, losses, encoder, budget, train."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.components import Component

from explorer.page.controls import control, raw, title
from explorer.page.dataset_picker import ImageFields, look_again, pick_images
from explorer.page.form import MAIN, MORE, Form, Images, Training, losses_of
from explorer.page.inspection import failed, paragraph
from explorer.page.loss_picker import LossSlots, pick_losses, visibility
from explorer.page.menu import menu
from explorer.page.parameter_panel import fold, parameter_fold, stored_values
from explorer.page.remembered import KEY, LONGEST, defaults, keeping, loss_names, loss_texts, restored
from explorer.page.run_buttons import run_buttons
from explorer.server.runs import Runs
from explorer.server.visitors import caller
from explorer.titles import waiting
from trainers.config import RunConfig
from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.kinds.metric_learning.advice import advice
from trainers.parameters import specs
from trainers.samplers import SAMPLERS

if TYPE_CHECKING:
    from explorer.page.tabs.base import TabDescriptor

_TITLE = '<h1 id="rs-title">Rankscope</h1><p class="rs-sentence">See what a ranking loss learns</p>'
_STATUS = '<p id="rs-status" role="status"></p>'
_WITH_TOKEN = "(...values) => [...values.slice(0, -1), window.rankscope?.token?.() ?? '']"
# on a phone the sidebar covers the page, so it makes way for the run that was asked for
_OPEN = """(id) => {
  const note = document.getElementById("rs-note");
  if (note) note.dataset.run = id ?? "";
  if (!id) return [];
  window.rankscope?.open?.(id);
  document.querySelector("#rs-tabs button[role=tab]")?.click();
  if (window.innerWidth < 769) document.querySelector("#rs-sidebar.open .toggle-button")?.click();
  return [];
}"""
# storage may be switched off, and reading it then raises an error; what is too long to be ours is not sent
_KEPT = f"""() => {{
  const now = String(performance.now());
  try {{
    const kept = localStorage.getItem("{KEY}") ?? "";
    return [kept.length > {LONGEST} ? "" : kept, now];
  }} catch {{ return ["", now]; }}
}}"""
_FORGOTTEN = f"""() => {{
  try {{ localStorage.removeItem("{KEY}"); }} catch {{ /* nothing was kept */ }}
  return ["", String(performance.now())];
}}"""
_RESTORED = "() => { window.rankscopeRestored = true; return []; }"


def sidebar(page: gr.Blocks, runs: Runs, tabs: Iterable[TabDescriptor]) -> None:
    """Build the sidebar and its events inside ``page``; ``tabs`` say what it shows while they are open."""
    with gr.Sidebar(label="Settings", width=288, elem_id="rs-sidebar"):
        gr.HTML(_TITLE, apply_default_css=False)
        gr.HTML(_asides(tabs), apply_default_css=False, elem_id="rs-aside")
        drawn = gr.Textbox(visible=False, label="Turn of the folds")
        run_id = gr.Textbox(visible=False, label="Run")
        token = gr.Textbox(visible=False, label="Visitor's token")
        note = gr.HTML("", apply_default_css=False, elem_id="rs-note", render=False)
        with gr.Column(elem_id="rs-setup", min_width=80):
            images = pick_images(note)
            losses = pick_losses(drawn)
            encoder, encoder_text = _pick_encoder(drawn)
            sampler, training = _pick_training(encoder)
            reset = gr.Button("Reset to defaults", size="sm", elem_id="rs-reset")
        fields: dict[str, Component] = {
            **images.fields,
            **dict(zip(loss_names(), losses.names, strict=True)),
            **dict(zip(loss_texts(), losses.texts, strict=True)),
            "encoder": encoder,
            "encoder_parameters": encoder_text,
            "sampler": sampler,
            **training,
        }
        with gr.Column(elem_id="rs-go", min_width=80):
            train = gr.Button("Train", variant="primary", elem_id="rs-train")
            note.render()
            _start_event(train, fields, token, note, run_id, runs)
            run_buttons(runs, run_id, token)
            gr.HTML(_STATUS, apply_default_css=False)
        _remember(page, reset, fields, images, losses, drawn)


def _asides(tabs: Iterable[TabDescriptor]) -> str:
    """What the sidebar says instead of the settings while a tab is open that they do not start anything in."""
    return "".join(
        f'<p class="rs-sentence" data-tab="{tab.name}" hidden>{html.escape(tab.aside)}</p>'
        for tab in tabs
        if not tab.trains
    )


def _pick_encoder(drawn: gr.Textbox) -> tuple[gr.HTML, gr.Textbox]:
    choices = [(name, descriptor.title, descriptor.lacking()) for name, descriptor in ENCODERS.items()]
    encoder = menu(choices, value=RunConfig().encoder, label="Encoder", elem_id="rs-encoder")
    text = gr.Textbox("{}", visible=False, label="Encoder parameters")
    with fold("Parameters"):
        parameter_fold(encoder, text, drawn, ENCODERS)
    return encoder, text


def _pick_training(encoder: gr.HTML) -> tuple[gr.Dropdown, dict[str, Component]]:
    """The budget, and the fold with the sampler and the other settings; in the order of :class:`Training`."""
    made = {name: _training(name) for name in MAIN}
    with fold("Batch, learning rate and more"):
        sampler = gr.Dropdown(
            [(descriptor.title, name) for name, descriptor in SAMPLERS.items()],
            value=RunConfig().sampler,
            label="Classes of a batch",
            info="How the classes that share a batch are drawn.",
            filterable=False,
            min_width=80,
        )
        made |= {name: _training(name) for name in MORE}
    encoder.picked(
        lambda name: ENCODERS[name].learning_rate if name in ENCODERS else gr.skip(),
        encoder,
        made["learning_rate"],
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
    return sampler, {spec.name: made[spec.name] for spec in specs(Training)}


def _training(name: str) -> Component:
    spec = next(spec for spec in specs(Training) if spec.name == name)
    labels = {
        "minutes": "Budget in minutes",
        "dim": "Embedding size",
        "clip_norm": "Clip gradients at norm",
        "probe_size": "Images on the maps",
        "steps": "Most steps",
        "memory": "Memory of embeddings",
        "memory_after": "Memory from step",
    }
    return control(spec, raw(spec, spec.default), label=labels.get(name, title(name)))


def _remember(
    page: gr.Blocks,
    reset: gr.Button,
    fields: dict[str, Component],
    images: ImageFields,
    losses: LossSlots,
    drawn: gr.Textbox,
) -> None:
    """The visitor's browser keeps what they choose; it comes back with the page, or goes with the button."""
    kept = gr.Textbox(visible=False, label="Kept settings")
    changed = [*fields.values(), *losses.shown, drawn]
    looked: dict[str, Any] = {"inputs": list(images.fields.values()), "outputs": images.looked}
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    page.load(_restored(_differing), [kept, drawn], changed, js=_KEPT, queue=False, **quiet).then(
        fn=None, js=_RESTORED
    ).then(_look_if_kept, **looked, **quiet)
    reset.click(_restored(_everything), [kept, drawn], changed, js=_FORGOTTEN, queue=False, **quiet).then(
        look_again, **looked, **quiet
    )
    gr.on([field.change for field in fields.values()], fn=None, inputs=list(fields.values()), js=keeping())


def _restored(updates: Callable[[Mapping[str, object]], list[object]]) -> Callable[[str, str], list[object]]:
    def restore(text: str, turn: str) -> list[object]:
        values = restored(text)
        filled = sum(1 for name in loss_names() if values[name])
        return [*updates(values), *visibility(filled), turn]

    return restore


def _differing(values: Mapping[str, object]) -> list[object]:
    """Updates of the fields that are not as the page shows them at first; somebody may be typing into the others."""
    first = defaults()
    return [gr.skip() if value == first[name] else value for name, value in values.items()]


def _everything(values: Mapping[str, object]) -> list[object]:
    return list(values.values())


def _look_if_kept(*values: object) -> list[object]:
    """Look at images that came back from an earlier visit; the first ones are described already."""
    first = list(defaults().values())[: len(values)]
    same = all((value or None) == (before or None) for value, before in zip(values, first, strict=True))
    return [gr.skip()] * 5 if same else look_again(*values)


def _start_event(
    train: gr.Button,
    fields: dict[str, Component],
    token: gr.Textbox,
    note: gr.HTML,
    run_id: gr.Textbox,
    runs: Runs,
) -> None:
    """Train: check everything, queue the run, open it; or say what is wrong where the visitor looks."""

    def start(request: gr.Request, *values: object) -> tuple[str, str]:
        try:
            config = form_of(dict(zip(fields, values, strict=False))).config()
            started = runs.start(config, str(values[-1] or ""), caller(request))
            lines = [waiting(runs.place(started)), *advice(config)]
            return started, "".join(paragraph(line) for line in lines if line)
        except (UserError, OSError) as error:
            return "", failed(str(error))

    asked = [*fields.values(), token]
    train.click(start, asked, [run_id, note], js=_WITH_TOKEN, api_visibility="private", show_progress="hidden").then(
        fn=None, inputs=[run_id], outputs=None, js=_OPEN
    )


def form_of(values: Mapping[str, object]) -> Form:
    """What the fields hold, by the names of :func:`explorer.page.remembered.defaults`."""
    losses, parameters = losses_of([values[name] for name in loss_names()], [values[text] for text in loss_texts()])
    encoder = str(values["encoder"])
    return Form(
        images=Images(**{name: values[name] for name in Images.__dataclass_fields__}),
        losses=losses,
        loss_parameters=parameters,
        encoder=encoder,
        encoder_parameters=stored_values(str(values["encoder_parameters"]), encoder),
        sampler=str(values["sampler"]),
        training={spec.name: values[spec.name] for spec in specs(Training)},
    )


def opened(tab: TabDescriptor) -> str:
    """JavaScript for the moment a tab is opened: ``shell.js`` shows of the sidebar what belongs to it."""
    detail = json.dumps({"name": tab.name, "trains": tab.trains})
    return f"() => {{ window.dispatchEvent(new CustomEvent('rankscope:tab', {{ detail: {detail} }})); return []; }}"
