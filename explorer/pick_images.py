"""The images of a run: a set of the catalogue, a Hub id or a folder, and what is found in it."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.components import Component

from explorer import inspection
from explorer.form import Images
from trainers.data import SOURCES, inspect_data
from trainers.errors import UserError
from trainers.types import DataChoice

LOOKS_AT_ONCE = 4  # a look may stream the first rows of a Hub set; more at once would only wait for the network


def pick_images() -> list[Component]:
    """Build the choice, the lines that say what was found, and the fold that corrects it.

    Returns:
        The components whose values are the fields of :class:`explorer.form.Images`, in their order.
    """
    source = gr.Dropdown(
        [(descriptor.title, name) for name, descriptor in SOURCES.items()],
        value=DataChoice().source,
        allow_custom_value=True,
        label="Images",
        elem_id="rs-source",
        min_width=80,
    )
    found = gr.HTML(inspection.about(DataChoice().source), apply_default_css=False, elem_id="rs-found")
    with gr.Accordion("How they are read", open=False, elem_classes=["rs-fold"]):
        gr.HTML(
            inspection.paragraph("Type a Hub id or a folder above. What is empty here is found out."),
            apply_default_css=False,
        )
        image = _column("Image column")
        labels = gr.Dropdown(
            [],
            value=[],
            multiselect=True,
            allow_custom_value=True,
            label="Label columns",
            info="Finest first.",
            min_width=80,
        )
        train, test = _column("Training split"), _column("Test split")
        subset = gr.Textbox(label="Subset", info="Of a Hub set that has several.", max_lines=1)
        most = gr.Number(
            DataChoice().max_images, label="Most images per split", info="A larger split is thinned.", precision=0
        )
    fields: list[Component] = [source, subset, image, labels, train, test, most]
    outputs: list[Component] = [found, image, labels, train, test]
    look: dict[str, Any] = {
        "outputs": outputs,
        "show_progress": "hidden",
        "api_visibility": "private",
        "concurrency_limit": LOOKS_AT_ONCE,
        "trigger_mode": "always_last",
    }
    corrected = [subset, image, labels, train, test]
    source.input(fn=None, outputs=[found, *corrected], js="() => ['Looking …', '', null, [], null, null]").then(
        _look, fields, **look
    )
    gr.on([field.input for field in corrected], _look, fields, **look)
    return fields


def _column(label: str) -> gr.Dropdown:
    return gr.Dropdown([], value=None, allow_custom_value=True, label=label, min_width=80)


def _look(*values: object) -> list[object]:
    """What is found in the chosen images, and the choices for its columns and splits."""
    try:
        choice = Images(**dict(zip(Images.__dataclass_fields__, values, strict=True))).choice()
        report = inspect_data(choice)
    except UserError as error:
        return [inspection.failed(str(error)), *(gr.update() for _ in range(4))]
    used = report.proposal or choice
    usable = [(f"{column.name} ({column.classes:,})", column.name) for column in report.labels if column.usable]
    splits = list(report.splits)
    return [
        inspection.found(report, choice.source),
        gr.update(choices=list(report.image_columns), value=used.image_column),
        gr.update(choices=usable, value=list(used.label_columns or ())),
        gr.update(choices=splits, value=used.train_split),
        gr.update(choices=splits, value=used.test_split),
    ]
