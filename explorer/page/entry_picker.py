"""One entry of a registry: a menu in which what is not installed cannot be chosen, and a panel of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page import remembered
from explorer.page.menu import menu
from explorer.page.parameter_panel import choice_text, fold, parameter_fold, stored_values
from trainers.parameters import Choice, Spec


@dataclass(frozen=True, kw_only=True)
class EntryPicker:
    """The menu of a setting that is a :class:`trainers.parameters.Choice`.

    Attributes:
        spec: of the setting.
        entries: those of its registry that are offered.
    """

    spec: Spec
    entries: Mapping[str, Any]

    @cached_property
    def _text(self) -> str:
        """Name of the field that holds the parameters."""
        return f"{self.spec.name}_parameters"

    def build(self, drawn: gr.Textbox, elem_id: str) -> dict[str, Component]:
        """Build menu and panel; the menu's value is a name, the panel's is a hidden text.

        Args:
            drawn: see :func:`explorer.page.parameter_panel.parameter_fold`.
        """
        held = self.defaults()
        choices = [(name, descriptor.title, descriptor.lacking()) for name, descriptor in self.entries.items()]
        chosen = menu(choices, value=held[self.spec.name], label=self.spec.label, elem_id=elem_id)
        text = gr.Textbox(held[self._text], visible=False, label=f"{self.spec.label} parameters")
        with fold("Parameters"):
            parameter_fold(chosen, text, drawn, self.entries)
        return {self.spec.name: chosen, self._text: text}

    def held(self, choice: Choice) -> dict[str, Any]:
        """Return the values of the fields that hold ``choice``, by name."""
        return {self.spec.name: choice.name, self._text: choice_text(choice, self.entries)}

    def defaults(self) -> dict[str, Any]:
        """Return the fields as they are at first."""
        return self.held(self.spec.default)

    def restored(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields as they were left; an entry that is not installed does not come back."""
        there = {name: one for name, one in self.entries.items() if one.lacking() is None}
        text = kept.get(self._text, self.defaults()[self._text])
        return {
            **remembered.choice(kept, self.spec.name, there),
            self._text: remembered.parameters_text(text, self.entries),
        }

    def chosen(self, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the entry with what its panel holds."""
        name = str(values[self.spec.name])
        return name, stored_values(str(values[self._text]), name)
