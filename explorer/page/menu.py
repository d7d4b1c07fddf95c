"""A menu with disabled entries for what is not installed; each shows on demand the command that installs it."""

from __future__ import annotations

from collections.abc import Iterable

import gradio as gr

from explorer.page.scripted import scripted

_GIVEN = '{ props, watch, picked: () => { trigger("change"); trigger("picked"); } }'


def menu(choices: Iterable[tuple[str, str, str | None]], *, value: str, label: str, elem_id: str) -> gr.HTML:
    """Make a list of choices under its name; the component's value is the chosen name.

    It raises ``change`` when its value changes and ``picked`` when a visitor chose.

    Args:
        choices: name, title, and what to install before it can be chosen; None: it can be.
        value: name of the chosen one.
    """
    return scripted(
        "page/menu.js",
        "rs-menufield",
        "The menu",
        _GIVEN,
        value=value,
        elem_id=elem_id,
        elem_classes=["rs-menublock"],
        label=label,
        name=label,
        choices=[{"name": name, "title": title, "missing": missing} for name, title, missing in choices],
    )
