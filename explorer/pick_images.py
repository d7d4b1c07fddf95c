"""The images of a run: a set of the catalogue, a Hub id or a folder, and what is found in it."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from explorer.form import Images
from trainers.data import SOURCES, inspect_data
from trainers.errors import UserError
from trainers.types import DataChoice

LEVEL_SIGN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


@dataclass(frozen=True, kw_only=True)
class ImageFields:
    """The components whose values make up :class:`explorer.form.Images`, in the order of its fields."""

    components: list[Component]


def pick_images(page: gr.Blocks) -> ImageFields:
    """Build the choice, the line that says what was found, and the fold that corrects it."""
    gr.HTML("<h2>Images</h2>", elem_classes=["rs-heading"])
    source = gr.Dropdown(
        [(descriptor.title, name) for name, descriptor in SOURCES.items()],
        value=DataChoice().source,
        allow_custom_value=True,
        label="Images: a set, a Hub id or a folder",
        show_label=False,
        elem_id="rs-source",
        min_width=80,
    )
    found = gr.Markdown(_about(DataChoice().source), elem_id="rs-found", elem_classes=["rs-sentence"])
    with gr.Accordion("How they are read", open=False, elem_classes=["rs-fold"]):
        gr.Markdown("Empty fields are found out.", elem_classes=["rs-sentence"])
        image = gr.Dropdown([], value=None, allow_custom_value=True, label="Image column", min_width=80)
        labels = gr.Textbox(label="Label columns", info="Finest first, with commas between.", max_lines=1)
        with gr.Row():
            train = gr.Dropdown([], value=None, allow_custom_value=True, label="Training split", min_width=80)
            test = gr.Dropdown([], value=None, allow_custom_value=True, label="Test split", min_width=80)
        subset = gr.Textbox(label="Subset", info="Of a Hub set that has several.", max_lines=1)
        most = gr.Number(
            DataChoice().max_images, label="Most images read per split", info="The rest is left out.", precision=0
        )
        look = gr.Button("Look at it again", size="sm")
    fields = [source, subset, image, labels, train, test, most]
    outputs = [found, image, train, test]
    quiet = {"show_progress": "minimal", "show_progress_on": found, "api_visibility": "private"}
    cleared = [subset, image, labels, train, test]
    source.input(lambda: ["", None, "", None, None], None, cleared, queue=False, api_visibility="private").then(
        _inspect, fields, outputs, concurrency_limit=4, **quiet
    )
    look.click(_inspect, fields, outputs, concurrency_limit=4, **quiet)
    return ImageFields(components=fields)


def _inspect(*values: object) -> list[object]:
    """What is found in the chosen images: a line of Markdown, and the choices for columns and splits."""
    try:
        choice = Images(**dict(zip(Images.__dataclass_fields__, values, strict=True))).choice()
        if choice.source in SOURCES:
            return [_about(choice.source), *(gr.update(choices=[]) for _ in range(3))]
        seen = inspect_data(choice)
    except UserError as error:
        return [str(error), *(gr.update() for _ in range(3))]
    return [str(seen), *(gr.update() for _ in range(3))]


def _about(source: str) -> str:
    descriptor = SOURCES[source]
    return f"{descriptor.sentence} Licence: {descriptor.licence}."
