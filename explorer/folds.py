"""The fold of parameters under a choice: its controls follow from the descriptor that is chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gradio as gr

from explorer.controls import control, raw
from trainers.parameters import specs


def parameter_fold(page: gr.Blocks, choice: gr.Dropdown, text: gr.Textbox, catalogue: Mapping[str, Any]) -> None:
    """Draw the controls of the chosen entry and keep their values in ``text``.

    ``text`` is hidden and holds ``{entry: {parameter: value}}``; each control writes its value there in the browser, so
    that values survive a change of this or any other choice and the start needs no knowledge of what is drawn.
    """

    @gr.render(inputs=[choice, text], triggers=[page.load, choice.change], show_progress="hidden")
    def draw(name: str | None, stored: str) -> None:
        descriptor = catalogue.get(name or "")
        if descriptor is None:
            return
        gr.Markdown(f"{descriptor.sentence} {getattr(descriptor, 'slow', '')}".strip(), elem_classes=["rs-sentence"])
        fields = specs(descriptor.parameters)
        if not fields:
            gr.Markdown("It has no parameters.", elem_classes=["rs-sentence"])
        values = stored_values(stored, descriptor.name)
        for spec in fields:
            shown = values.get(spec.name, raw(spec, spec.default))
            made = control(spec, shown, key=(str(choice._id), descriptor.name, spec.name))
            made.change(fn=None, inputs=[made, text], outputs=[text], js=_keep(descriptor.name, spec.name))


def stored_values(text: str | None, name: str) -> dict[str, Any]:
    """The values kept for one entry; empty if there are none or the text is not ours."""
    try:
        values = json.loads(text or "{}").get(name, {})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _keep(entry: str, parameter: str) -> str:
    """JavaScript that files a control's value in the hidden text."""
    where = f"(all[{json.dumps(entry)}] ??= {{}})[{json.dumps(parameter)}]"
    body = f"const all = text ? JSON.parse(text) : {{}}; {where} = value; return JSON.stringify(all);"
    return f"(value, text) => {{ {body} }}"
