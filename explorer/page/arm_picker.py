"""The arms of a comparison: slots, each with an entry of a registry and a panel of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.blocks import QUIET, LongMenu
from explorer.page.inspection import paragraph
from explorer.page.parameter_panel import choice_text, fold, parameter_fold, stored_values
from explorer.page.remembered import parameters_text
from trainers.config import MAX_ARMS
from trainers.parameters import Choice

ANEW = "(...values) => [...values.slice(0, -1), String(performance.now())]"
"""JavaScript for events that change a panel's text: a new value for the last input, see ``drawn`` of the panels."""

Slots = list[tuple[str, str]]
"""Filled slots: name of the entry, and the text that holds its parameters."""


@dataclass(frozen=True, kw_only=True)
class ArmSlots:
    """The components whose values make up the choice, and those that follow from it.

    Attributes:
        fields: menus of the entries, and hidden texts with their parameters, by name.
        shown: what :meth:`ArmPicker.following` updates.
    """

    fields: dict[str, Component]
    shown: list[Component]


@dataclass(frozen=True, kw_only=True)
class ArmPicker:
    """Slots for the entries of one registry.

    Attributes:
        one, title: what an entry is called in the middle of a sentence, and the heading.
        same: the sentence that says what all arms share.
        entries: the registry; each entry has a ``family``, and one with an ``alias_of`` is not offered.
        first: what the slots hold at first.
        added: what "Add a ..." proposes: the first of these, then of all, that is not chosen yet.
    """

    one: str
    title: str
    same: str
    entries: Mapping[str, Any]
    first: Sequence[Choice]
    added: Sequence[str] = ()

    @cached_property
    def names(self) -> list[str]:
        """Names of the fields that hold the entries."""
        return [f"{self.one}_{slot}" for slot in range(MAX_ARMS)]

    @cached_property
    def texts(self) -> list[str]:
        """Names of the fields that hold their parameters."""
        return [f"{name}_parameters" for name in self.names]

    @cached_property
    def _offered(self) -> dict[str, Any]:
        """The entries by name, one family after the other."""
        families: dict[str, dict[str, Any]] = {}
        for name, entry in self.entries.items():
            if getattr(entry, "alias_of", None) is None:
                families.setdefault(entry.family, {})[name] = entry
        return {name: entry for family in families.values() for name, entry in family.items()}

    # ------------------------------------------------------------ components

    def build(self, drawn: gr.Textbox) -> ArmSlots:
        """Build the slots; empty slots are hidden, filled ones come first.

        Args:
            drawn: see :func:`explorer.page.parameter_panel.parameter_fold`.
        """
        groups, names, texts, removers = [], [], [], []
        choices = [(entry.title, name) for name, entry in self._offered.items()]
        held = self.defaults()
        gr.HTML(
            f"<h2>{self.title}</h2>{self._families()}",
            apply_default_css=False,
            elem_classes=["rs-heading"],
        )
        for index, field in enumerate(self.names):
            value, label = held[field], f"{self.one.capitalize()} {index + 1}"
            classes = ["rs-slot", f"rs-slot-{index}", f"rs-ink-{index}"]
            with gr.Column(visible=value is not None, elem_classes=classes, min_width=80) as group:
                name = LongMenu(
                    choices,
                    value=value,
                    label=label,
                    show_label=False,
                    elem_classes=["rs-arm", f"rs-{self.one}"],
                    min_width=80,
                )
                text = gr.Textbox(held[self.texts[index]], visible=False, label=f"{label}, parameters")
                with fold("Parameters"):
                    parameter_fold(name, text, drawn, self.entries)
                    remover = gr.Button(f"Remove this {self.one}", size="sm", visible=len(self.first) > 1)
            groups.append(group)
            names.append(name)
            texts.append(text)
            removers.append(remover)
        add = gr.Button(f"Add a {self.one}", size="sm")
        gr.HTML(paragraph(self.same), apply_default_css=False)
        fields: dict[str, Component] = dict(zip([*self.names, *self.texts], [*names, *texts], strict=True))
        made = ArmSlots(fields=fields, shown=[*groups, *removers, add])
        self._slot_events(made, drawn, add, removers)
        return made

    def _slot_events(self, made: ArmSlots, drawn: gr.Textbox, add: gr.Button, removers: list[gr.Button]) -> None:
        asked = [*made.fields.values(), drawn]
        outputs = [*asked, *made.shown]
        options: dict[str, Any] = {"inputs": asked, "outputs": outputs, "queue": False, "js": ANEW} | QUIET

        def filled(values: Sequence[object]) -> Slots:
            return self._filled(made.fields, values)

        add.click(lambda *values: self._show(self._added(filled(values)), values[-1]), **options)
        for index, remover in enumerate(removers):
            remover.click(
                lambda *values, at=index: self._show(_removed(filled(values), at), values[-1]),
                **options,
            )

    def _families(self) -> str:
        """Write a style that names families beside the entries of the open list; Gradio's drop-down has no groups."""
        families: dict[str, list[str]] = {}
        for entry in self._offered.values():
            families.setdefault(entry.family, []).append(f'[aria-label="{entry.title}"]')
        rules = "".join(
            f'.rs-{self.one} [role=option]:is({",".join(titles)})::after {{ content: "{family}"; }}'
            for family, titles in families.items()
        )
        return f"<style>{rules}</style>"

    # ---------------------------------------------------------------- values

    def held(self, choices: Iterable[Choice]) -> dict[str, Any]:
        """Return the values of the fields that hold ``choices``, by name."""
        return self._held([(choice.name, choice_text(choice, self.entries)) for choice in choices])

    def defaults(self) -> dict[str, Any]:
        """Return the fields as they are at first."""
        return self.held(self.first)

    def restored(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the slots as they were left, filled ones first; nothing if none is filled.

        Args:
            kept: values by name, checked here.
        """
        first, slots = self.defaults(), []
        for field, text in zip(self.names, self.texts, strict=True):
            name = kept.get(field, first[field])
            if name is not None and not (isinstance(name, str) and name in self._offered):
                name = first[field]
            if name is not None:
                slots.append((name, parameters_text(kept.get(text, first[text]), self.entries)))
        return self._held(slots) if slots else {}

    def chosen(self, values: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Return the entries of the filled slots with what their panels hold."""
        return [(name, stored_values(text, name)) for name, text in self._filled(values, values.values())]

    def following(self, values: Mapping[str, Any]) -> list[object]:
        """Return updates of ``ArmSlots.shown`` for values of the fields."""
        return _visibility(sum(1 for name in self.names if values[name]))

    def _added(self, slots: Slots) -> Slots:
        taken = {name for name, _ in slots}
        fresh = [name for name in (*self.added, *self.entries) if name in self.entries and name not in taken]
        return [*slots, (fresh[0], "{}")] if fresh and len(slots) < MAX_ARMS else slots

    def _show(self, slots: Slots, turn: object) -> list[object]:
        """Return updates that put ``slots`` into the first places and hide the rest."""
        return [*self._held(slots).values(), turn, *_visibility(len(slots))]

    def _filled(self, names: Iterable[str], values: Iterable[object]) -> Slots:
        """Return the filled slots among values of fields."""
        held = dict(zip(names, values, strict=False))
        pairs = zip(self.names, self.texts, strict=True)
        return [(str(held[name]), str(held[text] or "{}")) for name, text in pairs if held[name]]

    def _held(self, slots: Slots) -> dict[str, Any]:
        padded = [*slots, *[(None, "{}")] * (MAX_ARMS - len(slots))]
        values = [*(name for name, _ in padded), *(text for _, text in padded)]
        return dict(zip([*self.names, *self.texts], values, strict=True))


def _removed(slots: Slots, at: int) -> Slots:
    return slots[:at] + slots[at + 1 :] if len(slots) > 1 else slots


def _visibility(filled: int) -> list[object]:
    """Return updates of ``ArmSlots.shown`` for the first ``filled`` slots."""
    return [
        *(gr.update(visible=index < filled) for index in range(MAX_ARMS)),
        *(gr.update(visible=filled > 1) for _ in range(MAX_ARMS)),
        gr.update(visible=filled < MAX_ARMS),
    ]
