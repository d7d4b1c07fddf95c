"""Gradio's components as the page uses them: a list to choose from, a table of numbers, a fold, a figure."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.components.photograph import Photograph


def listing(value: Any = None, *, headers: list[str], shares: list[int], **options: Any) -> gr.Dataframe:
    """Add a list of which a row is chosen.

    Args:
        shares: of its width that each column gets, in per cent.
    """
    return gr.Dataframe(
        value,
        headers=headers,
        column_widths=[f"{share}%" for share in shares],
        interactive=False,
        wrap=True,
        show_label=False,
        max_height=640,
        buttons=[],
        elem_classes="rs-table",
        **options,
    )


def table(headers: list[str] | None = None, **options: Any) -> gr.Dataframe:
    """Add a table of numbers."""
    return gr.Dataframe(headers=headers, interactive=False, show_label=False, elem_classes="rs-table", **options)


def fold(title: str, **options: Any) -> gr.Accordion:
    """Add a part that is closed at first."""
    return gr.Accordion(title, open=False, elem_classes="rs-fold", **options)


def chart(**options: Any) -> gr.Plot:
    """Add a place for a figure, see :mod:`explorer.page.charts`."""
    return gr.Plot(show_label=False, elem_classes="rs-chart", **options)


def photograph(label: str, **options: Any) -> gr.Image:
    """Add a place for a photograph of the visitor's own; events get a path, which ``shared.photographs`` opens."""
    return Photograph(label=label, buttons=[], **options)


def reaching(elem_id: str) -> str:
    """Return JavaScript that shows what was chosen where it stands below the list, as on a phone."""
    return f"""() => {{
      if (window.innerWidth < 769) document.getElementById("{elem_id}").scrollIntoView({{ behavior: "smooth" }});
      return [];
    }}"""
