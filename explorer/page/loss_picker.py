"""The losses of a comparison: up to four slots, each with a panel of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.inspection import paragraph
from explorer.page.parameter_panel import fold, parameter_fold, stored_values
from explorer.page.remembered import parameters_text
from trainers.config import MAX_ARMS
from trainers.losses import FAMILIES, LOSSES
from trainers.parameters import Choice

_SAME = "They share weights, batches and augmentation; only the loss differs."
_ORDINALS = ("First loss", "Second loss", "Third loss", "Fourth loss")
ADDED = ("supcon", "proxy_anchor", "roadmap", "smooth_ap")
"""What "Add a loss" proposes: the first of these, then of all, that is not chosen yet."""
ANEW = "(...values) => [...values.slice(0, -1), String(performance.now())]"
"""JavaScript for events that change a panel's text: a new value for the last input, see ``drawn`` of the panels."""


@dataclass(frozen=True, kw_only=True)
class LossSlots:
    """The components whose values make up the choice, and those that follow from it.

    Attributes:
        names, texts: menus of the losses, and hidden texts with their parameters.
        shown: what :func:`visibility` updates.
    """

    names: list[gr.Dropdown]
    texts: list[gr.Textbox]
    shown: list[Component]


def pick_losses(drawn: gr.Textbox, first: Sequence[Choice]) -> LossSlots:
    """Build the slots; empty slots are hidden, filled ones come first.

    Args:
        drawn: see :func:`explorer.page.parameter_panel.parameter_fold`.
        first: the losses that they hold at first.
    """
    groups, names, texts, removers = [], [], [], []
    starting = [loss.name for loss in first]
    choices = [(loss.title, loss.name) for losses in FAMILIES.values() for loss in losses]
    gr.HTML(f"<h2>Losses</h2>{_families()}", apply_default_css=False, elem_classes=["rs-heading"])
    for index in range(MAX_ARMS):
        value = starting[index] if index < len(starting) else None
        classes = ["rs-slot", f"rs-slot-{index}"]
        with gr.Column(visible=value is not None, elem_classes=classes, min_width=80) as group:
            name = gr.Dropdown(
                choices, value=value, label=_ORDINALS[index], show_label=False, elem_classes=["rs-loss"], min_width=80
            )
            text = gr.Textbox("{}", visible=False, label=f"{_ORDINALS[index]}, parameters")
            with fold("Parameters"):
                parameter_fold(name, text, drawn, LOSSES)
                remover = gr.Button("Remove this loss", size="sm", visible=len(starting) > 1)
        groups.append(group)
        names.append(name)
        texts.append(text)
        removers.append(remover)
    add = gr.Button("Add a loss", size="sm")
    gr.HTML(paragraph(_SAME), apply_default_css=False)
    made = LossSlots(names=names, texts=texts, shown=[*groups, *removers, add])
    _slot_events(made, drawn, add, removers)
    return made


def _slot_events(made: LossSlots, drawn: gr.Textbox, add: gr.Button, removers: list[gr.Button]) -> None:
    asked = [*made.names, *made.texts, drawn]
    changed = [*asked, *made.shown]
    quiet = {"show_progress": "hidden", "queue": False, "api_visibility": "private", "js": ANEW}
    add.click(lambda *values: _show(_added(_pairs(values)), values[-1]), asked, changed, **quiet)
    for index, remover in enumerate(removers):
        remover.click(
            lambda *values, at=index: _show(_removed(_pairs(values), at), values[-1]), asked, changed, **quiet
        )


def _families() -> str:
    """A style that writes its family beside each loss of the open list; Gradio's drop-down knows no groups."""
    rules = "".join(
        f'.rs-loss [role=option][aria-label="{loss.title}"]::after {{ content: "{family}"; }}'
        for family, losses in FAMILIES.items()
        for loss in losses
    )
    return f"<style>{rules}</style>"


Slots = list[tuple[str, str]]


def _pairs(values: Sequence[str | None]) -> Slots:
    """Filled slots as ``(name, parameters text)``."""
    pairs = zip(values[:MAX_ARMS], values[MAX_ARMS : 2 * MAX_ARMS], strict=True)
    return [(name, text or "{}") for name, text in pairs if name]


def _added(slots: Slots) -> Slots:
    taken = {name for name, _ in slots}
    fresh = [name for name in (*ADDED, *LOSSES) if name in LOSSES and name not in taken]
    return [*slots, (fresh[0], "{}")] if fresh and len(slots) < MAX_ARMS else slots


def _removed(slots: Slots, at: int) -> Slots:
    return slots[:at] + slots[at + 1 :] if len(slots) > 1 else slots


def _show(slots: Slots, turn: object) -> list[object]:
    """Updates that put ``slots`` into the first places and hide the rest."""
    padded = [*slots, *((None, "{}") for _ in range(MAX_ARMS - len(slots)))]
    return [*(name for name, _ in padded), *(text for _, text in padded), turn, *visibility(len(slots))]


def loss_names() -> list[str]:
    """Names of the fields that hold the losses."""
    return [f"loss_{slot}" for slot in range(MAX_ARMS)]


def loss_texts() -> list[str]:
    """Names of the fields that hold their parameters."""
    return [f"{name}_parameters" for name in loss_names()]


def defaults(first: Sequence[Choice]) -> dict[str, Any]:
    """The fields as they are at first."""
    slots = [first[slot].name if slot < len(first) else None for slot in range(MAX_ARMS)]
    return dict(zip(loss_names(), slots, strict=True)) | dict.fromkeys(loss_texts(), "{}")


def restored(kept: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """The slots as they were left, filled ones first; nothing if none is filled.

    Args:
        kept: values by name, checked here.
        first: as :func:`defaults` gives them.
    """
    shown = {loss.name for losses in FAMILIES.values() for loss in losses}
    slots = []
    for field, text in zip(loss_names(), loss_texts(), strict=True):
        name = kept.get(field, first[field])
        if name is not None and not (isinstance(name, str) and name in shown):
            name = first[field]
        if name is not None:
            slots.append((name, parameters_text(kept.get(text), LOSSES)))
    if not slots:
        return {}
    slots += [(None, "{}")] * (MAX_ARMS - len(slots))
    return dict(zip([*loss_names(), *loss_texts()], [*(n for n, _ in slots), *(t for _, t in slots)], strict=True))


def chosen(values: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The losses of the filled slots with what their panels hold."""
    slots = zip(loss_names(), loss_texts(), strict=True)
    return [(values[name], stored_values(values[text], values[name])) for name, text in slots if values[name]]


def visibility(filled: int) -> list[object]:
    """Updates of ``LossSlots.shown`` for the first ``filled`` slots."""
    return [
        *(gr.update(visible=index < filled) for index in range(MAX_ARMS)),
        *(gr.update(visible=filled > 1) for _ in range(MAX_ARMS)),
        gr.update(visible=filled < MAX_ARMS),
    ]
