"""A menu with disabled entries for what is not installed; each shows on demand the command that installs it."""

from __future__ import annotations

from collections.abc import Iterable

import gradio as gr

# The template holds no value, as in logslider.py; ``assets/page/menu.js`` fills it.
_TEMPLATE = '<div class="rs-menufield"></div>'
_SCRIPT = """
const root = (window.gradio_config?.root ?? location.origin).replace(/\\/$/, "");
// Gradio looks for the names of the events in this text
const picked = () => { trigger("change"); trigger("picked"); };
import(`${root}/gradio_api/rankscope/assets/page/menu.js`).then(
  (menu) => menu.mount(element, { props, picked, watch }),
  (error) => { element.querySelector(".rs-menufield").textContent = `The menu could not be opened: ${error.message}`; },
);
"""


def menu(choices: Iterable[tuple[str, str, str | None]], *, value: str, label: str, elem_id: str) -> gr.HTML:
    """A list of choices under its name; the component's value is the chosen name.

    It raises ``change`` when its value changes and ``picked`` when a visitor chose.

    Args:
        choices: name, title, and what to install before it can be chosen; None: it can be.
        value: name of the chosen one.
    """
    return gr.HTML(
        value,
        html_template=_TEMPLATE,
        js_on_load=_SCRIPT,
        apply_default_css=False,
        elem_id=elem_id,
        elem_classes=["rs-menublock"],
        label=label,
        name=label,
        choices=[{"name": name, "title": title, "missing": missing} for name, title, missing in choices],
    )
