"""What can be downloaded of a run, and pushed to the Hub: a button with a menu."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from explorer.server.states import Json


class Downloads(gr.HTML):
    """The downloads of one run; its value is what :func:`offer` returns, empty for none."""

    def __init__(self, **options: Any) -> None:
        given = "{ about: () => props.value, changed: (show) => watch('value', show) }"
        super().__init__(
            html_template='<div class="rs-downloadable"><p class="rs-loading"></p></div>',
            js_on_load=f"rankscopeMount(element, 'components/downloads.js', 'Downloads', {given})",
            apply_default_css=False,
            **options,
        )

    def postprocess(self, value: str | None) -> str | None:
        """See Gradio; the script reads the value as JSON, and no template shows it."""
        return value


def offer(run: Json) -> str:
    """Describe a run with its ``downloads`` and ``losses``."""
    return json.dumps({name: run[name] for name in ("id", "downloads", "losses")})
