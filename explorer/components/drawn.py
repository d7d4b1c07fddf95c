"""What our own components share: a script in ``assets/components`` draws them."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr


class Drawn(gr.HTML):
    """A component that ``mount(element, given)`` of a script draws from its value, which no template holds.

    Args:
        script: in ``assets/components``, without its ending.
        host: classes of the element that it draws into.
        what: the subject of the sentence that says that the script could not be loaded.
        events: JavaScript of the functions that trigger events. Gradio finds their names in this text, so
            ``trigger("name", ...)`` stands in it literally.
    """

    def __init__(self, script: str, host: str, what: str, events: str = "", value: Any = None, **options: Any) -> None:
        given = f'{{ value: () => props.value, watch: (drawn) => watch("value", drawn), {events} }}'
        module = json.dumps(f"components/{script}.js")
        super().__init__(
            value,
            html_template=f'<div class="{host}"><p class="rs-loading"></p></div>',
            js_on_load=f"rankscopeMount(element, {module}, {json.dumps(what)}, {given})",
            apply_default_css=False,
            **options,
        )

    def preprocess(self, payload: Any) -> None:
        """Take nothing from the page but events."""

    def postprocess(self, value: Any) -> Any:
        """See Gradio; plain values."""
        return value
