"""The images of a run: a dataset of the catalogue, a Hub id or a folder, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page import inspection
from explorer.page.parameter_panel import fold
from explorer.page.remembered import accepted, is_text
from trainers.config import DataChoice
from trainers.data import SOURCES, access, inspect_data
from trainers.data.sources import check_reference, resolve
from trainers.errors import ParameterError, UserError

_COLUMNS = 8
_CORRECTIONS = ("image_column", "train_split", "test_split")
LOOKS_AT_ONCE = 4  # each may stream the first rows of a Hub dataset; more at once would only wait for the network


@dataclass(frozen=True, kw_only=True)
class Images:
    """Which images, as typed; empty texts are detected.

    Attributes:
        source: catalogue name, Hub id or folder.
        label_columns: names, finest first; a text has commas between them.
    """

    source: str
    subset: str = ""
    image_column: str = ""
    label_columns: str | Sequence[str] = ()
    train_split: str = ""
    test_split: str = ""
    max_images: float | None = None

    def choice(self) -> DataChoice:
        """As the loader takes it."""
        words = self.label_columns.split(",") if isinstance(self.label_columns, str) else self.label_columns or ()
        labels = tuple(word.strip() for word in words if word.strip())
        source = (self.source or "").strip()
        if not source:
            raise ParameterError("A run needs images: choose a dataset, or type a Hub id or a folder.")
        limit = DataChoice().max_images if self.max_images is None else self.max_images
        if not 100 <= limit <= 1_000_000:
            raise ParameterError(f"Most images read per split needs 100 to 1000000; got {limit:g}.")
        return DataChoice(
            source=source,
            subset=_text(self.subset),
            image_column=_text(self.image_column),
            label_columns=labels or None,
            train_split=_text(self.train_split),
            test_split=_text(self.test_split),
            max_images=int(limit),
        )


@dataclass(frozen=True, kw_only=True)
class ImageFields:
    """The components whose values are the fields of :class:`Images`, and those that describe them.

    Attributes:
        fields: by name, in the order of the fields.
        looked: what :func:`look_again` updates.
    """

    fields: dict[str, Component]
    looked: list[Component]


def pick_images(note: gr.HTML) -> ImageFields:
    """Build the choice, the description of what was detected, and the panel that corrects it.

    Args:
        note: what was said at the last start; it is about other images once these change.
    """
    source = gr.Dropdown(
        [(descriptor.title, name) for name, descriptor in SOURCES.items()],
        value=DataChoice().source,
        allow_custom_value=True,
        label="Images",
        elem_id="rs-source",
        min_width=80,
    )
    gr.HTML(_invitation(), apply_default_css=False, elem_classes=["rs-nothing"])
    found = gr.HTML(inspection.about(DataChoice().source), apply_default_css=False, elem_id="rs-found")
    with fold("How they are read"):
        gr.HTML(inspection.paragraph("Empty fields are detected."), apply_default_css=False)
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
        subset = gr.Textbox(label="Subset", info="Of a Hub dataset that has several.", max_lines=1)
        most = gr.Number(
            DataChoice().max_images, label="Most images per split", info="A larger split is thinned.", precision=0
        )
    fields: dict[str, Component] = {
        "source": source,
        "subset": subset,
        "image_column": image,
        "label_columns": labels,
        "train_split": train,
        "test_split": test,
        "max_images": most,
    }
    made = ImageFields(fields=fields, looked=[found, image, labels, train, test])
    _look_events(made, [subset, image, labels, train, test], note)
    return made


def defaults() -> dict[str, Any]:
    """The fields as they are at first."""
    data = DataChoice()
    empty = dict.fromkeys(Images.__dataclass_fields__, "") | dict.fromkeys(_CORRECTIONS)
    return {**empty, "source": data.source, "label_columns": [], "max_images": data.max_images}


def restored(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as they were left: the dataset, and how it is read, which belongs to it and goes with it."""
    values: dict[str, Any] = {}
    most = kept.get("max_images")
    if accepted(lambda: Images(source=DataChoice().source, max_images=most).choice()):
        values["max_images"] = most if most is not None else DataChoice().max_images
    source = kept.get("source", DataChoice().source)
    if not is_text(source) or not (source in SOURCES or accepted(lambda: resolve(source))):
        return values
    subset = kept.get("subset", "")
    if is_text(subset) and accepted(lambda: check_reference(subset, None)):
        values["subset"] = subset
    columns = kept.get("label_columns")
    if isinstance(columns, list) and len(columns) <= _COLUMNS and all(map(is_text, columns)):
        values["label_columns"] = columns
    return values | {"source": source} | {name: kept[name] for name in _CORRECTIONS if is_text(kept.get(name))}


def typed_words() -> str:
    """What may be typed into the box: a folder only where one may be opened."""
    return "or type a Hub id, or a folder" if access.opens_folders() else "or type a Hub id"


def look_again(*values: object) -> list[object]:
    """What :func:`pick_images` shows of images that come back from an earlier visit."""
    source, *corrections = values[:-1]
    if source not in SOURCES or any(corrections):
        return _look_at_others(*values)
    return [inspection.about(str(source)), *(gr.update(choices=[]) for _ in range(4))]


def _look_events(made: ImageFields, corrected: list[Component], note: gr.HTML) -> None:
    found, fields = made.looked[0], list(made.fields.values())
    look: dict[str, Any] = {
        "outputs": made.looked,
        "show_progress": "hidden",
        "api_visibility": "private",
        "concurrency_limit": LOOKS_AT_ONCE,
        "trigger_mode": "always_last",
    }
    made.fields["source"].input(
        fn=None, outputs=[found, *corrected, note], js="() => ['Looking …', '', null, [], null, null, '']"
    ).then(_look_at_others, fields, **look)
    gr.on([field.input for field in corrected], _look, fields, **look)


def _invitation() -> str:
    """A style that writes into the box what may be typed there, and the words for the box when it is empty.

    Gradio's drop-down has neither; ``shell.js`` hands the words to the field itself.
    """
    words = typed_words()
    return (
        f'<style>#rs-source .container > .wrap::after {{ content: "{words}"; }}</style>'
        f'<span id="rs-source-words" hidden>{words.removeprefix("or ").replace("type", "Type")}</span>'
    )


def _column(label: str) -> gr.Dropdown:
    return gr.Dropdown([], value=None, allow_custom_value=True, label=label, min_width=80)


def _look_at_others(*values: object) -> list[object]:
    """The same for images that were just chosen: if they cannot be read, the lists are emptied."""
    found, *lists = _look(*values)
    return [found, *({"choices": []} | one for one in lists)]  # type: ignore[operator]


def _look(*values: object) -> list[object]:
    """What is detected in the chosen images, and the choices for their columns and splits."""
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


def _text(value: str | None) -> str | None:
    return (value or "").strip() or None
