"""The hard conditions of training in a form: a fold with a control each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gradio.components import Component

from explorer.page.controls import control, raw, read
from explorer.page.parameter_panel import fold
from explorer.page.remembered import settings
from trainers.config import Conditions, DataChoice
from trainers.parameters import specs

TITLE = "Hard conditions"
FIELDS = ("label_noise", "noise_kind", "withheld_classes", "withheld_images")
"""Those with a control; folds are for searches, which set them themselves."""
_SPECS = {spec.name: spec for spec in specs(Conditions) if spec.name in FIELDS}


def build() -> dict[str, Component]:
    """Build the controls, by name."""
    with fold(TITLE):
        return {name: control(spec, raw(spec, spec.default)) for name, spec in _SPECS.items()}


def held(choice: DataChoice) -> dict[str, Any]:
    """Return the values of the controls that show the conditions of ``choice``, by name."""
    return {name: raw(spec, getattr(choice.conditions, name)) for name, spec in _SPECS.items()}


def restored(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as they were left; defaults are left out."""
    return settings(Conditions, kept, only=FIELDS)


def chosen(choice: DataChoice, values: Mapping[str, Any]) -> DataChoice:
    """Put ``choice`` under the conditions that the controls hold, or plain values; some of them.

    Raises:
        ParameterError: one is unknown or wrong.
    """
    return replace(choice, conditions=replace(choice.conditions, **read(Conditions, values, TITLE)))


def chosen_in(choice: DataChoice, fields: Mapping[str, Any]) -> DataChoice:
    """Put ``choice`` under the conditions among the values of all fields of a form.

    Raises:
        ParameterError: one is wrong.
    """
    return chosen(choice, {name: fields[name] for name in FIELDS})
