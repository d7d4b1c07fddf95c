"""The images of a run: a dataset of the catalogue, a Hub id or a folder, and how it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import gradio as gr
from gradio.components import Component

from explorer.page import inspection
from explorer.page.blocks import QUIET
from explorer.page.controls import control, raw, read
from explorer.page.parameter_panel import fold
from explorer.page.remembered import accepted, is_text, settings
from trainers.config import DataChoice
from trainers.data import SOURCES, access, inspect_data, named
from trainers.data.labelled.descriptor import written
from trainers.data.sources import check_reference, resolve
from trainers.errors import ParameterError, UserError
from trainers.parameters import specs

_FIRST = DataChoice()
_SPECS = {spec.name: spec for spec in specs(DataChoice)}
_FEWEST_IMAGES = 100
_COLUMNS = 8
_DETECTED = ("image_column", "label_columns", "train_split", "test_split")
FIELDS = ("source", "subset", *_DETECTED, "max_images")
"""Settings of :class:`DataChoice` that are fields of every form."""
_OWN = {f"{name}_{spec.name}": (name, spec) for name, entry in SOURCES.items() for spec in specs(entry.parameters)}
"""The parameters of datasets of the catalogue by the names of their fields."""
_UNSEEN: tuple[dict[str, Any], ...] = tuple({"choices": []} for _ in _DETECTED)
LOOKS_AT_ONCE = 4  # each may stream the first rows of a Hub dataset; more at once would only wait for the network


def data_choice(
    source: str | None,
    *,
    label_columns: str | Sequence[str] = (),
    max_images: float | None = None,
    image_size: object = None,
    first: DataChoice = _FIRST,
    **texts: Any,
) -> DataChoice:
    """Make the choice of images as typed; what is empty is detected.

    Args:
        source: catalogue name, Hub id or folder.
        label_columns: names, finest first; a text has commas between them.
        image_size: as its control holds it.
        first: what no field holds.
        texts: the other :data:`FIELDS`, and parameters of datasets of the catalogue by the names of their fields.

    Raises:
        ParameterError: there is no source, or too few or too many images are asked for.
    """
    words = label_columns.split(",") if isinstance(label_columns, str) else label_columns or ()
    source = (source or "").strip()
    if not source:
        raise ParameterError("A run needs images: choose a dataset, or type a Hub id or a folder.")
    own = {name: texts.pop(name) for name in _OWN if name in texts}
    if source in SOURCES:
        values = {spec.name: own[name] for name, (owner, spec) in _OWN.items() if owner == source and name in own}
        source = written(source, read(SOURCES[source].parameters, values, SOURCES[source].title))
    elif (entry := named(source)) is not None:
        entry.parameters_of(source)
    limit, spec = first.max_images if max_images is None else max_images, _SPECS["max_images"]
    most = math.inf if spec.rule.high is None else spec.rule.high
    if not _FEWEST_IMAGES <= limit <= most:
        raise ParameterError(f"{spec.label} needs {_FEWEST_IMAGES} to {most}; got {limit:g}.")
    typed: dict[str, Any] = {name: (text or "").strip() or None for name, text in texts.items()}
    return replace(
        first,
        source=source,
        label_columns=tuple(word.strip() for word in words if word.strip()) or None,
        max_images=int(limit),
        **typed,
        **read(DataChoice, {"image_size": image_size}, "Images"),
    )


@dataclass(frozen=True, kw_only=True)
class DatasetPicker:
    """The fields of a form that say which images.

    Attributes:
        first: the images at first, and what the fields do not hold.
        more: fields beside :data:`FIELDS`.
        unlabelled: what is said of images without classes.
    """

    first: DataChoice = _FIRST
    more: tuple[str, ...] = ()
    unlabelled: str = ""

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return (*FIELDS, *_OWN, *self.more)

    def chosen(self, values: Mapping[str, Any]) -> DataChoice:
        """Return the images that the fields describe; see :func:`data_choice`."""
        return data_choice(**{name: values[name] for name in self.fields}, first=self.first)

    def held(self, choice: DataChoice) -> dict[str, Any]:
        """Return the values of the fields that hold ``choice``, by name."""
        texts = {"subset": choice.subset or "", "label_columns": list(choice.label_columns or ())}
        more = {name: raw(_SPECS[name], getattr(choice, name)) for name in self.more}
        own = {name: spec.default for name, (_, spec) in _OWN.items()}
        if (entry := named(choice.source)) is not None:
            values = entry.parameters_of(choice.source)
            own |= {name: getattr(values, spec.name) for name, (owner, spec) in _OWN.items() if owner == entry.name}
            texts["source"] = entry.name
        own = {name: raw(spec, own[name]) for name, (_, spec) in _OWN.items()}
        return {name: getattr(choice, name) for name in FIELDS} | texts | own | more

    def defaults(self) -> dict[str, Any]:
        """Return the fields as they are at first."""
        return self.held(self.first)

    def restored(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields as they were left: the dataset, and how it is read, which belongs to it."""
        values: dict[str, Any] = settings(DataChoice, kept, only=self.more)
        for name, (owner, spec) in _OWN.items():
            for value in settings(SOURCES[owner].parameters, {spec.name: kept.get(name)}).values():
                values[name] = value
        most = kept.get("max_images")
        if accepted(lambda: data_choice(_FIRST.source, max_images=most)):
            values["max_images"] = most if most is not None else self.first.max_images
        source = kept.get("source", self.first.source)
        if not is_text(source) or not accepted(lambda: _check_there(source)):
            return values
        subset = kept.get("subset", "")
        if is_text(subset) and accepted(lambda: check_reference(subset, None)):
            values["subset"] = subset
        columns = kept.get("label_columns")
        if isinstance(columns, list) and len(columns) <= _COLUMNS and all(map(is_text, columns)):
            values["label_columns"] = columns
        texts = [name for name in _DETECTED if name != "label_columns" and is_text(kept.get(name))]
        return values | {"source": source} | {name: kept[name] for name in texts}

    def build(self, note: gr.HTML, mark: str = "") -> tuple[dict[str, Component], list[Component]]:
        """Build the choice, the description of what was detected, and the panel that corrects it.

        Args:
            note: what was said at the last start; it is about other images once these change.
            mark: ends the ids of its elements.

        Returns:
            The components by name, in the order of :attr:`fields`, and those that :meth:`look_again` updates.
        """
        source = gr.Dropdown(
            [(descriptor.title, name) for name, descriptor in SOURCES.items()],
            value=self.first.source,
            allow_custom_value=True,
            label=_SPECS["source"].label,
            elem_id=f"rs-source{mark}",
            min_width=80,
        )
        gr.HTML(_invitation(), apply_default_css=False, elem_classes=["rs-nothing"])
        description = gr.HTML(
            inspection.about(self.first.source),
            apply_default_css=False,
            elem_id=f"rs-found{mark}",
        )
        with fold("How they are read"):
            first = self.held(self.first)
            own = {name: control(spec, first[name]) for name, (_, spec) in _OWN.items()}
            lists = {name: _list(name) for name in _DETECTED}
            subset = gr.Textbox(max_lines=1, **_words("subset"))
            most = gr.Number(self.first.max_images, precision=0, **_words("max_images"))
            more = {name: control(_SPECS[name], first[name]) for name in self.more}
        fields: dict[str, Component] = {"source": source, "subset": subset, **lists, "max_images": most, **own, **more}
        described = [description, *lists.values()]
        look: dict[str, Any] = {"outputs": described, "concurrency_limit": LOOKS_AT_ONCE, "trigger_mode": "always_last"}
        source.input(
            fn=None,
            outputs=[description, subset, *lists.values(), note],
            js="() => ['Looking …', '', null, [], null, null, '']",
        ).then(self._look_at_others, list(fields.values()), **look, **QUIET)
        corrected = [subset.input, *(field.input for field in lists.values())]
        gr.on(corrected, self._look, list(fields.values()), **look, **QUIET)
        return fields, described

    # ----------------------------------------------------- what is found there

    def look_again(self, *values: object) -> list[object]:
        """Show what :meth:`build` shows of images that come back from an earlier visit."""
        held = dict(zip(self.fields, values, strict=True))
        if held["source"] not in SOURCES or any(held[name] for name in ("subset", *_DETECTED)):
            return self._look_at_others(*values)
        return [inspection.about(str(held["source"])), *(gr.update(choices=[]) for _ in _DETECTED)]

    def _look_at_others(self, *values: object) -> list[Any]:
        """Show the same for images that were just chosen: if they cannot be read, the lists are emptied."""
        description, *lists = self._look(*values)
        return [description, *(unseen | one for unseen, one in zip(_UNSEEN, lists, strict=True))]

    def _look(self, *values: object) -> list[Any]:
        """Detect what is in the chosen images, and the choices for their columns and splits."""
        try:
            choice = self.chosen(dict(zip(self.fields, values, strict=True)))
            report = inspect_data(choice)
        except UserError as error:
            return [inspection.failed(str(error)), *(gr.update() for _ in _DETECTED)]
        used = report.proposal or choice
        usable = [(f"{column.name} ({column.classes:,})", column.name) for column in report.labels if column.usable]
        splits = list(report.splits)
        return [
            inspection.reported(report, choice.source, self.unlabelled),
            gr.update(choices=list(report.image_columns), value=used.image_column),
            gr.update(choices=usable, value=list(used.label_columns or ())),
            gr.update(choices=splits, value=used.train_split),
            gr.update(choices=splits, value=used.test_split),
        ]


def _check_there(source: str) -> None:
    """Refuse a source that is no dataset of the catalogue, and no folder or Hub id that may be opened.

    Raises:
        UserError: with what is accepted.
    """
    if (entry := named(source)) is not None:
        entry.parameters_of(source)
    else:
        resolve(source)


def _invitation() -> str:
    """Write a style that says in the box what may be typed there, and the words for the box when it is empty.

    Gradio's drop-down has neither; ``shell.js`` hands the words to the field itself.
    """
    words = "or type a Hub id, or a folder" if access.opens_folders() else "or type a Hub id"
    return (
        f'<style>[id|="rs-source"] .container > .wrap::after {{ content: "{words}"; }}</style>'
        f'<span class="rs-source-words" hidden>{words.removeprefix("or ").replace("type", "Type")}</span>'
    )


class _Words(TypedDict):
    label: str
    info: str


def _words(name: str) -> _Words:
    return {"label": _SPECS[name].label, "info": _SPECS[name].rule.help}


def _list(name: str) -> gr.Dropdown:
    """Make a list of what was detected of a dataset; its value is a list where the setting is one."""
    several = _SPECS[name].type is tuple
    value: list[str] | None = [] if several else None
    return gr.Dropdown([], value=value, multiselect=several, allow_custom_value=True, min_width=80, **_words(name))
