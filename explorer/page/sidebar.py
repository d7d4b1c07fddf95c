"""The sidebar: the settings of a run, and Train."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import gradio as gr

from explorer.page.scripted import scripted

if TYPE_CHECKING:
    from explorer.page.tab import Tab

_SENTENCE = "See what a ranking loss learns"
_DOCS = '<a href="gradio_api/rankscope/docs/README.md" target="_blank" rel="noopener">Docs</a>'
_TITLE = f'<h1 id="rs-title">Rankscope</h1><p class="rs-sentence">{_SENTENCE} · {_DOCS}</p>'
_MASTHEAD = f'<p class="rs-masthead"><b>Rankscope</b> <span>{_SENTENCE}</span></p>'

_LENT = """<p class="rs-sentence">Runs that may use a GPU train on one that ZeroGPU lends you, for up to a minute at a
time, while this page shows them. It counts towards your quota.</p>"""


def sidebar(tabs: Iterable[Tab[Any]], login: bool = False, lent: bool = False) -> None:
    """Build the sidebar, which ``assets/page/sidebar.js`` fills; ``tabs`` say what it shows while they are open.

    Args:
        login: visitors can sign in.
        lent: runs train on a GPU that is lent to their visitor.
    """
    with gr.Sidebar(label="Settings", width=300, elem_id="rs-sidebar"):
        gr.HTML(_TITLE, apply_default_css=False)
        if login:
            scripted("page/login.js", "rs-login", "Signing in", elem_id="rs-signin")
        if lent:
            gr.HTML(_LENT, apply_default_css=False)
        gr.HTML(_asides(tabs), apply_default_css=False, elem_id="rs-aside")
        scripted("page/sidebar.js", "rs-setup", "The settings", loading="Reading the settings …", elem_id="rs-settings")


def masthead() -> None:
    """Add the name above the tabs, for narrow screens, where the sidebar is closed at first."""
    gr.HTML(_MASTHEAD, apply_default_css=False)


def _asides(tabs: Iterable[Tab[Any]]) -> str:
    """Write the text that replaces the settings while a tab is open in which they start nothing."""
    return "".join(
        f'<p class="rs-sentence" data-tab="{tab.name}" hidden>{html.escape(tab.aside)}</p>'
        for tab in tabs
        if not tab.trains
    )


def opened(tab: Tab[Any]) -> str:
    """Return JavaScript for the moment a tab is opened: ``sidebar.js`` shows of the sidebar what belongs to it."""
    return f"() => rankscopeOpened({json.dumps({'name': tab.name, 'trains': tab.trains})})"
