"""The settings of a run, from top to bottom like a sentence: images, losses, encoder, budget, train."""

from __future__ import annotations

from collections.abc import Callable

import gradio as gr
from gradio.components import Component

from explorer.controls import control, raw, title
from explorer.folds import parameter_fold, stored_values
from explorer.form import MAIN, MORE, Form, Images, Training, losses_of
from explorer.inspection import failed, paragraph
from explorer.pick_images import pick_images
from explorer.pick_losses import pick_losses
from explorer.runs import Act, Runs
from explorer.visitors import caller
from explorer.wording import waiting
from trainers.advice import advice
from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.parameters import specs
from trainers.samplers import SAMPLERS
from trainers.types import MAX_LOSSES, RunConfig

_TITLE = '<h1 id="rs-title">Rankscope</h1><p class="rs-sentence">See what a ranking loss learns</p>'
_STATUS = '<p id="rs-status" role="status"></p>'
_VIEWED = "() => [window.rankscope?.current?.() ?? '', window.rankscope?.token?.() ?? '']"
_WITH_TOKEN = "(...values) => [...values.slice(0, -1), window.rankscope?.token?.() ?? '']"
# on a phone the sidebar covers the page, so it makes way for the run that was asked for
_OPEN = """(id) => {
  if (!id) return [];
  window.rankscope?.open?.(id);
  document.querySelector("#rs-tabs button[role=tab]")?.click();
  if (window.innerWidth < 769) document.querySelector("#rs-sidebar.open .toggle-button")?.click();
  return [];
}"""


def sidebar(page: gr.Blocks, runs: Runs) -> None:
    """Build the sidebar and its events inside ``page``."""
    with gr.Sidebar(label="Settings", width=288, elem_id="rs-sidebar"):
        gr.HTML(_TITLE, apply_default_css=False)
        images = pick_images()
        losses = pick_losses(page)
        encoder, encoder_text = _pick_encoder(page)
        training = {name: _training(name) for name in MAIN}
        with gr.Accordion("Batch, learning rate and more", open=False, elem_classes=["rs-fold"]):
            sampler = gr.Dropdown(
                [(descriptor.title, name) for name, descriptor in SAMPLERS.items()],
                value=RunConfig().sampler,
                label="Classes of a batch",
                info="How the classes that share a batch are drawn.",
                filterable=False,
                min_width=80,
            )
            training |= {name: _training(name) for name in MORE}
        encoder.input(
            lambda name: ENCODERS[name].learning_rate,
            encoder,
            training["learning_rate"],
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
        token = gr.Textbox(visible=False, label="Visitor's token")
        run_id = gr.Textbox(visible=False, label="Run")
        fields = [
            *images, *losses.names, *losses.texts, encoder, encoder_text, sampler, *training.values(), token
        ]  # fmt: skip
        with gr.Column(elem_id="rs-go", min_width=80):
            train = gr.Button("Train", variant="primary", elem_id="rs-train")
            note = gr.HTML("", apply_default_css=False, elem_id="rs-note")
            _start_event(train, fields, list(training), len(images), note, run_id, runs)
            _control_buttons(runs, run_id, token)
            gr.HTML(_STATUS, apply_default_css=False)


def _pick_encoder(page: gr.Blocks) -> tuple[gr.Dropdown, gr.Textbox]:
    encoder = gr.Dropdown(
        [(descriptor.title, name) for name, descriptor in ENCODERS.items()],
        value=RunConfig().encoder,
        label="Encoder",
        min_width=80,
    )
    text = gr.Textbox("{}", visible=False, label="Encoder parameters")
    with gr.Accordion("Parameters", open=False, elem_classes=["rs-fold"]):
        parameter_fold(page, encoder, text, ENCODERS)
    return encoder, text


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


def _start_event(
    train: gr.Button,
    fields: list[Component],
    training: list[str],
    image_fields: int,
    note: gr.HTML,
    run_id: gr.Textbox,
    runs: Runs,
) -> None:
    """Train: check everything, queue the run, open it; or say what is wrong where the visitor looks."""

    def start(request: gr.Request, *values: object) -> tuple[str, str]:
        try:
            config = _form(list(values[:-1]), training, image_fields).config()
            started = runs.start(config, str(values[-1] or ""), caller(request))
            lines = [waiting(runs.place(started)), *advice(config)]
            return started, "".join(paragraph(line) for line in lines if line)
        except (UserError, OSError) as error:
            return "", failed(str(error))

    train.click(start, fields, [run_id, note], js=_WITH_TOKEN, api_visibility="private", show_progress="hidden").then(
        fn=None, inputs=[run_id], outputs=None, js=_OPEN
    )


def _form(values: list[object], training: list[str], image_fields: int) -> Form:
    """The values of the fields, in the order in which :func:`sidebar` lists them."""
    images, rest = values[:image_fields], values[image_fields:]
    names, texts, rest = rest[:MAX_LOSSES], rest[MAX_LOSSES : 2 * MAX_LOSSES], rest[2 * MAX_LOSSES :]
    encoder, encoder_text, sampler, *numbers = rest
    losses, parameters = losses_of(names, texts)
    return Form(
        images=Images(**dict(zip(Images.__dataclass_fields__, images, strict=True))),
        losses=losses,
        loss_parameters=parameters,
        encoder=str(encoder),
        encoder_parameters=stored_values(str(encoder_text), str(encoder)),
        sampler=str(sampler),
        training=dict(zip(training, numbers, strict=True)),
    )


def _control_buttons(runs: Runs, run_id: gr.Textbox, token: gr.Textbox) -> None:
    """Pause or Resume, and Stop, for the run that is being viewed; ``shell.js`` enables what its phase allows."""
    with gr.Row(elem_id="rs-controls"):
        pause = gr.Button("Pause", elem_id="rs-pause", min_width=60)
        resume = gr.Button("Resume", elem_id="rs-resume", min_width=60)
        stop = gr.Button("Stop", elem_id="rs-stop", min_width=60)
    said = gr.HTML("", apply_default_css=False, elem_id="rs-said")
    for button, act in ((pause, "pause"), (resume, "resume"), (stop, "stop")):
        button.click(
            _pressed(runs, act),
            [run_id, token],
            [said],
            js=_VIEWED,
            api_visibility="private",
            show_progress="hidden",
        )


def _pressed(runs: Runs, act: str) -> Callable[..., str]:
    def press(viewed: str, secret: str, request: gr.Request) -> str:
        return attempt(runs.acts(caller(request))[act], viewed, secret)

    return press


def attempt(act: Act, run_id: str, token: str) -> str:
    """Do it, or say why not; as HTML."""
    try:
        return paragraph(act(run_id or "", token or ""), role="status")
    except (UserError, OSError) as error:
        return failed(str(error))
