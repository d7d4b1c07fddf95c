"""Fine-tuning on object-removed images: recipes that are trained side by side, and the run that follows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.components.menu import Menu
from explorer.components.run_follow import RunFollow
from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.words import literal
from explorer.server.visitors import caller
from explorer.tabs.object_removal import recipes
from explorer.tabs.object_removal.finetune import Finetuning
from explorer.tabs.object_removal.first import CHOSEN
from explorer.tabs.object_removal.service import TEXTS, Objects
from explorer.tabs.object_removal.view import Updates
from trainers.kinds.finetuning.kind import training_of
from trainers.kinds.finetuning.recipes import PRESETS
from trainers.object_removal.fills import FILLS
from trainers.optimization import OPTIMISERS

WHAT = """Goes on training the model on images together with the same images without an object, whose captions do not
name it. The recipes share weights, batches and budget; only what they are trained on differs."""
MINUTES = 5.0
TRAINING = (
    "steps",
    "minutes",
    "epochs",
    "batch",
    "optimiser",
    "learning_rate",
    "halve_every",
    "weight_decay",
    "seed",
    "seeds",
)
_PRESET = TRAINING[:5] + TRAINING[6:8]
"""What a preset decides of them."""
_TO_PLAN = "(id) => { if (id) window.rankscopeToPlan(id); return []; }"
_TO_LIVE = (
    "(id) => { window.rankscope?.open(id); document.querySelector('#rs-tabs button[role=tab]')?.click(); return []; }"
)


@dataclass(frozen=True, kw_only=True)
class Editor:
    """One of the recipes at a time.

    Attributes:
        listed: all of them, as JSON.
        which: the one that is edited, by its place.
    """

    listed: gr.Textbox
    which: gr.Radio
    fields: list[Any]
    about: gr.Markdown
    add: gr.Button
    drop: gr.Button

    @property
    def filled(self) -> list[Any]:
        """What :func:`_edited` fills."""
        return [self.listed, self.which, *self.fields, self.about, self.add, self.drop]


def build(objects: Objects, finetuning: Finetuning, dataset: Menu) -> tuple[RunFollow, Menu]:
    """Add the section; returns the run that is followed, whose models can be used, and the menu of the models."""
    parts.text(f"## Fine-tune on object-removed images\n\n{WHAT}")
    with gr.Row(equal_height=False):
        model = Menu(label="Model", filterable=False, min_width=180)
        presets = [(preset.title, preset.name) for preset in PRESETS]
        preset = gr.Dropdown(presets, value=PRESETS[0].name, label="Recipes", filterable=False, min_width=180)
    said = parts.sentence(PRESETS[0].sentence)
    editor = _editor()
    training = _training()
    token, plan = gr.Textbox(visible=False), gr.Textbox(visible=False)
    with gr.Row(elem_classes="rs-flow"):
        go_ = gr.Button("Fine-tune this model", variant="primary", size="md", scale=0, min_width=220)
        recorded = objects.recorded()
        watch = gr.Button("Watch a recorded one", size="md", scale=0, min_width=200, visible=recorded is not None)
    status = parts.sentence(elem_id="rs-object-started")
    follow = RunFollow(elem_id="rs-object-run")
    _wire_editor(editor, preset, said, training)
    model.change(lambda name: _rate(objects, name), model, training[5], **QUIET)

    def start(listed: str, model: str, dataset: str, *given: Any, request: gr.Request | None = None) -> Updates:
        *values, token = given
        asked = {"model": model, "dataset": dataset, "recipes": recipes.read(listed), **_values(values)}
        made = finetuning.perform({**asked, "action": "finetune", "token": token}, caller(request))
        if "error" in made:
            raise gr.Error(made["error"], print_exception=False)
        is_plan = bool(made.get("plan"))
        return [gr.skip() if is_plan else made["id"], made["id"] if is_plan else "", literal(made["said"])]

    def begun(request: gr.Request, *given: Any) -> Updates:
        return start(*given, request=request)

    asked = [editor.listed, model, dataset, *training, token]
    begin = go_.click(begun, asked, [follow, plan, status], js=parts.AS_ME, **QUIET)
    begin.success(fn=None, inputs=plan, js=_TO_PLAN).then(fn=None, js=parts.CHANGED)
    watch.click(fn=None, inputs=gr.Textbox(recorded or "", visible=False), js=_TO_LIVE)

    def act(event: gr.EventData, request: gr.Request) -> str:
        made = finetuning.perform(event._data, caller(request))
        if "error" in made:
            raise gr.Error(made["error"], print_exception=False)
        return literal(made["said"])

    follow.act(act, None, status, **QUIET).then(fn=None, js=parts.CHANGED)
    return follow, model


def _editor() -> Editor:
    first = recipes.of_preset(PRESETS[0].name)
    shown = recipes.shown(first[0])
    listed = gr.Textbox(json.dumps(first), visible=False)
    choices = [(title, at) for at, title in enumerate(recipes.titles(first))]
    which = gr.Radio(choices, value=0, label="Recipes, trained side by side; the chosen one is shown below")
    with gr.Row(equal_height=False):
        originals = gr.Dropdown(list(recipes.ORIGINALS), value=shown[0], label="Images as they are", filterable=False)
        texts = [(text["title"], text["name"]) for text in TEXTS]
        removed = gr.Checkbox(shown[1], label="Images without an object")
        text = gr.Dropdown(texts, value=shown[2], label="Their captions", filterable=False)
        ready = [(fill.title, fill.name) for fill in FILLS.values() if fill.redraw is None and fill.lacking() is None]
        fill = gr.Dropdown(ready, value=shown[3], label="Filled with", filterable=False)
    with gr.Row(equal_height=False):
        each = gr.Number(shown[4], label="Captions each", minimum=1, maximum=5, precision=0)
        captioner = gr.Textbox(shown[5], label="Captioner", placeholder="folder or Hugging Face id", visible=False)
        only = gr.Checkbox(shown[6], label="Only captions that named the object (our reading)")
        ratio = gr.Number(
            shown[7], label="Removed pairs for each original one", minimum=0, maximum=1, step=0.01,
            placeholder="all there are", info="Pairs of an image and a caption.",
        )  # fmt: skip
    about = parts.sentence(recipes.sentence(first[0]))
    with gr.Row(elem_classes="rs-flow"):
        add = parts.small("Compare with another recipe")
        drop = parts.small("Remove this recipe", visible=False)
    fields = [originals, removed, text, fill, each, captioner, only, ratio]
    return Editor(listed=listed, which=which, fields=fields, about=about, add=add, drop=drop)


def _training() -> list[Any]:
    """Add the fields of :data:`TRAINING`."""
    start = training_of(PRESETS[0])
    with gr.Row(equal_height=False):
        steps = gr.Number(start["steps"], label="Steps", minimum=1, maximum=10_000_000, precision=0)
        minutes = gr.Number(start["minutes"] or MINUTES, label="Minutes at most", minimum=0.5, maximum=1440)
    with parts.fold("Epochs, batch, optimiser, learning rate, seed"):
        with gr.Row(equal_height=False):
            epochs = gr.Number(None, label="Epochs", minimum=0.1, maximum=100_000)
            batch = gr.Number(start["batch"], label="Batch", minimum=8, maximum=4096, precision=0)
            named = [(descriptor.title, descriptor.name) for descriptor in OPTIMISERS.values()]
            optimiser = gr.Dropdown(named, value=start["optimiser"], label="Optimiser", filterable=False)
            rate = gr.Number(0.0002, label="Learning rate", minimum=0, maximum=1, step=0.00001)
        with gr.Row(equal_height=False):
            halve = gr.Number(start["halve_every"], label="Halved every … epochs", minimum=0.1, maximum=100_000)
            decay = gr.Number(start["weight_decay"], label="Weight decay", minimum=0, maximum=1, step=0.001)
            seed = gr.Number(0, label="Seed", minimum=0, maximum=2**31 - 1, precision=0)
            seeds = gr.Textbox(label="Or over seeds", placeholder="0, 1, 2", max_length=200)
    return [steps, minutes, epochs, batch, optimiser, rate, halve, decay, seed, seeds]


def _wire_editor(editor: Editor, preset: gr.Dropdown, said: gr.Markdown, training: list[Any]) -> None:
    def changed(listed: str, which: int, *fields: Any) -> Updates:
        known = recipes.read(listed)
        at = min(int(which or 0), len(known) - 1)
        known[at] = recipes.edited(fields)
        return _edited(known, at, fields=False)

    def chosen(listed: str, which: int) -> Updates:
        return _edited(recipes.read(listed), int(which or 0))

    def added(listed: str) -> Updates:
        known = recipes.read(listed)[: recipes.MOST - 1]
        return _edited([*known, {**known[0], "originals": "all", "removed": False}], len(known))

    def dropped(listed: str, which: int) -> Updates:
        known = recipes.read(listed)
        left = [each for at, each in enumerate(known) if at != which] or known
        return _edited(left, 0)

    def of_preset(name: str) -> Updates:
        found = next((each for each in PRESETS if each.name == name), PRESETS[0])
        train = training_of(found)
        if train["steps"] and not train["minutes"]:
            train["minutes"] = MINUTES
        return [*_edited(recipes.of_preset(name), 0), found.sentence, *(train[each] for each in _PRESET)]

    state = [editor.listed, editor.which]
    decided = [training[TRAINING.index(name)] for name in _PRESET]
    for field in editor.fields:
        field.input(changed, [*state, *editor.fields], editor.filled, **QUIET)
    editor.which.input(chosen, state, editor.filled, **QUIET)
    editor.add.click(added, editor.listed, editor.filled, **QUIET)
    editor.drop.click(dropped, state, editor.filled, **QUIET)
    preset.input(of_preset, preset, [*editor.filled, said, *decided], **QUIET)


def _edited(known: list[recipes.Values], at: int, fields: bool = True) -> Updates:
    """Return the list, and the recipe that is edited, for :attr:`Editor.filled`."""
    at = max(0, min(at, len(known) - 1))
    values = known[at]
    shown = recipes.shown(values) if fields else [gr.skip()] * len(recipes.FIELDS)
    if values["text"] == "captioner" or fields:
        shown[5] = gr.update(
            visible=values["text"] == "captioner", **({"value": values["captioner"]} if fields else {})
        )
    else:
        shown[5] = gr.update(visible=False)
    return [
        json.dumps(known),
        gr.update(choices=[(title, each) for each, title in enumerate(recipes.titles(known))], value=at),
        *shown,
        recipes.sentence(values),
        gr.update(interactive=len(known) < recipes.MOST),
        gr.update(visible=len(known) > 1),
    ]


def _values(given: list[Any]) -> dict[str, Any]:
    """Return the settings of the training; an empty field is none."""
    values = dict(zip(TRAINING, given, strict=True))
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _rate(objects: Objects, name: str) -> Any:
    """Return the learning rate that suits a model: the rate of a small one damages a published one."""
    rate = objects.models.known(name).learning_rate if name else None
    return gr.skip() if rate is None else rate


def trainable(objects: Objects, chosen: str | None) -> Any:
    """Return the menu of the models that can be fine-tuned."""
    able = [(known.title, known.name) for known in objects.models.listed() if known.trainable and known.missing is None]
    names = [name for _, name in able]
    first = next((name for name in CHOSEN if name in names), names[0] if names else None)
    return gr.update(choices=able, value=chosen if chosen in names else first)
