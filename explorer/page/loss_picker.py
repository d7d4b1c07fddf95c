"""The losses of a comparison: up to four slots, each with a panel of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.blocks import QUIET
from explorer.page.inspection import paragraph
from explorer.page.parameter_panel import fold, parameter_fold, stored_values
from explorer.page.remembered import parameters_text
from trainers.config import MAX_ARMS
from trainers.losses import FAMILIES, LOSSES

_SAME = "They share weights, batches and augmentation; only the loss differs."
_ORDINALS = ("First loss", "Second loss", "Third loss", "Fourth loss")
ADDED = ("supcon", "proxy_anchor", "roadmap", "smooth_ap")
"""What "Add a loss" proposes: the first of these, then of all, that is not chosen yet."""
ANEW = "(...values) => [...values.slice(0, -1), String(performance.now())]"
"""JavaScript for events that change a panel's text: a new value for the last input, see ``drawn`` of the panels."""
NAMES = [f"loss_{slot}" for slot in range(MAX_ARMS)]
"""Names of the fields that hold the losses; :data:`TEXTS`: of those that hold their parameters."""
TEXTS = [f"{name}_parameters" for name in NAMES]
_OFFERED = {loss.name: (loss.title, family) for family, losses in FAMILIES.items() for loss in losses}

Slots = list[tuple[str, str]]
"""Filled slots: name of the loss, and the text that holds its parameters."""


@dataclass(frozen=True, kw_only=True)
class LossSlots:
    """The components whose values make up the choice, and those that follow from it.

    Attributes:
        fields: menus of the losses, and hidden texts with their parameters, by name.
        shown: what :func:`visibility` updates.
    """

    fields: dict[str, Component]
    shown: list[Component]


def pick_losses(drawn: gr.Textbox, first: Sequence[str]) -> LossSlots:
    """Build the slots; empty slots are hidden, filled ones come first.

    Args:
        drawn: see :func:`explorer.page.parameter_panel.parameter_fold`.
        first: the losses that they hold at first.
    """
    groups, names, texts, removers = [], [], [], []
    choices = [(title, name) for name, (title, _) in _OFFERED.items()]
    gr.HTML(f"<h2>Losses</h2>{_families()}", apply_default_css=False, elem_classes=["rs-heading"])
    for index, (label, value) in enumerate(zip(_ORDINALS, defaults(first).values(), strict=False)):
        classes = ["rs-slot", f"rs-slot-{index}"]
        with gr.Column(visible=value is not None, elem_classes=classes, min_width=80) as group:
            name = gr.Dropdown(
                choices, value=value, label=label, show_label=False, elem_classes=["rs-loss"], min_width=80
            )
            text = gr.Textbox("{}", visible=False, label=f"{label}, parameters")
            with fold("Parameters"):
                parameter_fold(name, text, drawn, LOSSES)
                remover = gr.Button("Remove this loss", size="sm", visible=len(first) > 1)
        groups.append(group)
        names.append(name)
        texts.append(text)
        removers.append(remover)
    add = gr.Button("Add a loss", size="sm")
    gr.HTML(paragraph(_SAME), apply_default_css=False)
    fields: dict[str, Component] = dict(zip([*NAMES, *TEXTS], [*names, *texts], strict=True))
    made = LossSlots(fields=fields, shown=[*groups, *removers, add])
    _slot_events(made, drawn, add, removers)
    return made


def _slot_events(made: LossSlots, drawn: gr.Textbox, add: gr.Button, removers: list[gr.Button]) -> None:
    asked = [*made.fields.values(), drawn]
    options: dict[str, Any] = {"inputs": asked, "outputs": [*asked, *made.shown], "queue": False, "js": ANEW} | QUIET
    add.click(lambda *values: _show(_added(_filled(made.fields, values)), values[-1]), **options)
    for index, remover in enumerate(removers):
        remover.click(
            lambda *values, at=index: _show(_removed(_filled(made.fields, values), at), values[-1]), **options
        )


def _families() -> str:
    """A style that writes its family beside each loss of the open list; Gradio's drop-down knows no groups."""
    rules = "".join(
        f'.rs-loss [role=option][aria-label="{title}"]::after {{ content: "{family}"; }}'
        for title, family in _OFFERED.values()
    )
    return f"<style>{rules}</style>"


def _added(slots: Slots) -> Slots:
    taken = {name for name, _ in slots}
    fresh = [name for name in (*ADDED, *LOSSES) if name in LOSSES and name not in taken]
    return [*slots, (fresh[0], "{}")] if fresh and len(slots) < MAX_ARMS else slots


def _removed(slots: Slots, at: int) -> Slots:
    return slots[:at] + slots[at + 1 :] if len(slots) > 1 else slots


def _show(slots: Slots, turn: object) -> list[object]:
    """Updates that put ``slots`` into the first places and hide the rest."""
    return [*_held(slots).values(), turn, *visibility(len(slots))]


def _filled(names: Iterable[str], values: Iterable[object]) -> Slots:
    """The filled slots among values of fields."""
    held = dict(zip(names, values, strict=False))
    return [(str(held[name]), str(held[text] or "{}")) for name, text in zip(NAMES, TEXTS, strict=True) if held[name]]


def _held(slots: Slots) -> dict[str, Any]:
    """The values of the fields that hold ``slots``, by name."""
    padded = [*slots, *[(None, "{}")] * (MAX_ARMS - len(slots))]
    return dict(zip([*NAMES, *TEXTS], [*(name for name, _ in padded), *(text for _, text in padded)], strict=True))


def defaults(first: Sequence[str]) -> dict[str, Any]:
    """The fields as they are at first."""
    return _held([(name, "{}") for name in first])


def restored(kept: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """The slots as they were left, filled ones first; nothing if none is filled.

    Args:
        kept: values by name, checked here.
        first: as :func:`defaults` gives them.
    """
    slots = []
    for field, text in zip(NAMES, TEXTS, strict=True):
        name = kept.get(field, first[field])
        if name is not None and not (isinstance(name, str) and name in _OFFERED):
            name = first[field]
        if name is not None:
            slots.append((name, parameters_text(kept.get(text), LOSSES)))
    return _held(slots) if slots else {}


def chosen(values: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The losses of the filled slots with what their panels hold."""
    return [(name, stored_values(text, name)) for name, text in _filled(values, values.values())]


def visibility(filled: int) -> list[object]:
    """Updates of ``LossSlots.shown`` for the first ``filled`` slots."""
    return [
        *(gr.update(visible=index < filled) for index in range(MAX_ARMS)),
        *(gr.update(visible=filled > 1) for _ in range(MAX_ARMS)),
        gr.update(visible=filled < MAX_ARMS),
    ]
