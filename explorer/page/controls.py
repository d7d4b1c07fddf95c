"""Parameter dataclasses as Gradio controls, and what the controls hold as parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.blocks import LongMenu
from explorer.page.logslider import log_slider
from trainers.errors import ParameterError
from trainers.parameters import Choice, Spec, describe, make, specs

SLIDER_STEPS = 100  # a linear slider moves in about this many steps, so that its values read as round numbers
WIDEST_WHOLE = 300  # a slider over more whole numbers than this cannot be set with a mouse
ABOVE_ZERO = 1e-6  # of its right end: the smallest number of a logarithmic slider that begins with 0


def change_of(field: Component) -> Any:
    """Return the event of a field whose value changes: Gradio gives it to each kind of field when it is made."""
    events: Any = field
    return events.change


def control(spec: Spec, value: Any, key: tuple[str, ...] | None = None) -> Component:
    """Make the control of one parameter, showing ``value`` (as :func:`raw` gives it); ``key`` as in ``gr.render``."""
    rule, label = spec.rule, spec.label
    lowest, highest = rule.slider or (rule.low, rule.high)
    # explicit: inside gr.render Gradio takes a slider for an output and greys it out
    common: dict[str, Any] = {"label": label, "info": rule.help, "key": key, "interactive": True}
    if rule.registry:
        entries = [(entry.title, name) for name, entry in rule.entries().items()]
        return gr.Dropdown(entries, value=value, filterable=False, min_width=80, **common)
    if rule.menu:
        offered = [(title, word) for word, title in rule.words().titles.items()]
        return LongMenu(offered, value=value, multiselect=True, allow_custom_value=True, min_width=80, **common)
    if rule.choices is not None:
        # not the numbers themselves: a drop-down matches its value against text
        choices = [(str(choice), json.dumps(choice)) for choice in rule.choices]
        return gr.Dropdown(choices, value=value, filterable=False, **common)
    if spec.type is bool:
        return gr.Checkbox(value, **common)
    # an optional number is text too: Gradio's number field turns an empty value into 0 when it is first shown
    if spec.type in (str, tuple) or spec.optional:
        return gr.Textbox(value, placeholder="none" if spec.optional else "", max_lines=1, **common)
    whole = spec.type is int
    if lowest is not None and highest is not None:
        if rule.log and lowest >= 0:
            zero = lowest == 0
            low = max(highest * ABOVE_ZERO, 1 if whole else 0) if zero else lowest
            bounds: dict[str, Any] = {"low": low, "high": highest, "zero": zero, "whole": whole}
            return log_slider(value, **bounds, label=label, info=rule.help, key=key)
        if not (whole and highest - lowest > WIDEST_WHOLE):
            step = 1 if whole else _step(lowest, highest, spec.default)
            return gr.Slider(lowest, highest, value, step=step, buttons=[], min_width=80, **common)
    # Gradio would clip a number to its bounds silently, so the bounds are checked at the start instead
    return gr.Number(value, min_width=80, **common)


def raw(spec: Spec, value: Any) -> Any:
    """Return a parameter as its control holds it; of a choice its name."""
    if isinstance(value, Choice):
        return value.name
    if spec.rule.choices is not None:
        return json.dumps(value)
    if spec.rule.menu:
        return list(value)
    if spec.type is tuple:
        return "" if value is None else ", ".join(f"{item:g}" if spec.item is not str else item for item in value)
    if spec.optional:
        return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
    return value


def read(parameters: type, values: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Turn what the controls hold into checked parameters; those at their defaults are left out.

    Raises:
        ParameterError: naming the parameter, what it accepts and what it got.
    """
    known = {spec.name: spec for spec in specs(parameters)}
    parsed = {name: _parse(known[name], value, owner) if name in known else value for name, value in values.items()}
    checked = make(parameters, parsed, owner)
    settings = {name: getattr(checked, name) for name in parsed}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
        if value != known[name].default
    }


def _parse(spec: Spec, value: Any, owner: str) -> Any:
    if spec.type is Choice and isinstance(value, str):
        return Choice(name=value)
    if spec.rule.choices is not None and isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    if spec.type is tuple and isinstance(value, str):
        return _numbers(spec, value, owner)
    if spec.optional and isinstance(value, str):
        return _optional(spec, value.strip())
    return value


def _optional(spec: Spec, text: str) -> Any:
    """Read an optional parameter from a text field: empty is None; text that is no number is left for the check."""
    if text.lower() in ("", "none"):
        return None
    if spec.type in (int, float):
        try:
            number = float(text)
            return int(number) if number.is_integer() else number
        except ValueError:
            return text
    return text


def _numbers(spec: Spec, text: str, owner: str) -> Any:
    items = [item for item in text.replace(";", ",").split(",") if item.strip()]
    if not items and spec.optional:
        return None
    if spec.item is str:
        return tuple(item.strip() for item in items)
    try:
        return tuple(float(item) for item in items)
    except ValueError:
        raise ParameterError(
            f"{owner}: {spec.name} needs {describe(spec)} with commas between them; got {text!r}."
        ) from None


def _step(low: float, high: float, default: Any) -> float:
    """Choose a round step that divides the range finely and meets the default."""
    step = 1.0
    while step > (high - low) / SLIDER_STEPS:
        step /= 10
    while isinstance(default, float) and abs((default - low) / step - round((default - low) / step)) > 1e-6:
        step /= 10
        if step < 1e-6:
            break
    return step
