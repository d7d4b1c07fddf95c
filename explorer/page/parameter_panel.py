"""Collapsible panels of the sidebar, and the one that holds the parameters of a choice.

What a fold hides is on the page from the start and hidden by the style: Gradio mounts the fields of its own folds after
they are opened, and a number typed before that is lost.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.controls import change_of, control, raw
from trainers.parameters import Choice, Spec, specs


@contextmanager
def fold(title: str) -> Iterator[None]:
    """Write a heading that shows or hides what is built inside it; ``shell.js`` toggles it."""
    with gr.Column(elem_classes=["rs-fold"], min_width=80):
        gr.HTML(
            f'<button type="button" class="rs-foldhead" aria-expanded="false">{html.escape(title)}</button>',
            apply_default_css=False,
        )
        with gr.Column(elem_classes=["rs-foldbody"], min_width=80):
            yield


def parameter_fold(choice: Component, text: gr.Textbox, drawn: gr.Textbox, catalogue: Mapping[str, Any]) -> None:
    """Draw the controls of the chosen entry and keep their values in ``text``.

    ``text`` is hidden and holds ``{entry: {parameter: value}}``; each control writes its value there in the browser, so
    that values survive a change of this or any other choice and the start needs no knowledge of what is drawn.

    Args:
        drawn: hidden; whoever writes ``text`` changes it too, and the controls are made anew. Its first change draws
            them for the first time.
    """

    @gr.render(inputs=[choice, text, drawn], triggers=[drawn.change, change_of(choice)], show_progress="hidden")
    def draw(name: str | None, stored: str, turn: str) -> None:
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
            made = control(spec, shown, key=(str(choice._id), descriptor.name, spec.name, turn))
            change_of(made)(fn=None, inputs=[made, text], outputs=[text], js=_keep(descriptor.name, spec))


def choice_text(choice: Choice, catalogue: Mapping[str, Any]) -> str:
    """Write the text that holds the parameters of a choice, as its panel does."""
    known = {spec.name: spec for spec in specs(catalogue[choice.name].parameters)} if choice.parameters else {}
    values = {name: raw(spec, choice.parameters[name]) for name, spec in known.items() if name in choice.parameters}
    own = {name: value for name, value in values.items() if value != raw(known[name], known[name].default)}
    return json.dumps({choice.name: own} if own else {})


def stored_values(text: str | None, name: str) -> dict[str, Any]:
    """Read the values kept for one entry; empty if there are none or the text is not ours."""
    try:
        values = json.loads(text or "{}").get(name, {})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _keep(entry: str, spec: Spec) -> str:
    """Return JavaScript that stores a control's value in the hidden text; defaults are left out."""
    names, default = f"{json.dumps(entry)}, {json.dumps(spec.name)}", json.dumps(raw(spec, spec.default))
    return f"""(value, text) => {{
  const [entry, name] = [{names}];
  const {{ [entry]: {{ [name]: before, ...own }} = {{}}, ...others }} = text ? JSON.parse(text) : {{}};
  if (JSON.stringify(value) !== JSON.stringify({default})) own[name] = value;
  return JSON.stringify(Object.keys(own).length ? {{ ...others, [entry]: own }} : others);
}}"""
