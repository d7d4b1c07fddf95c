"""The page: sidebar on the left, tabs on the right; nothing holds a connection open."""

from __future__ import annotations

import gradio as gr

from explorer.object_removal.api import add_object_api
from explorer.object_removal.service import Objects
from explorer.page.blocks import Page
from explorer.page.scripted import LOADER
from explorer.page.sidebar import opened, sidebar
from explorer.page.tabs import TABS, TabContext
from explorer.page.theme import stylesheets
from explorer.server.api import add_api
from explorer.server.retrieval.api import add_retrieval_api
from explorer.server.retrieval.service import RetrievalService
from explorer.server.runs import Runs

HEAD = f"""
<meta name="viewport" content="width=device-width, initial-scale=1">
{stylesheets()}
{LOADER}
<script type="module" src="gradio_api/rankscope/assets/page/shell.js"></script>
"""

# Whether the settings would cover the page is known only in the browser.
_NARROW = """() => {
  if (window.innerWidth < 769) document.querySelector("#rs-sidebar.open .toggle-button")?.click();
  return [];
}"""


def page(runs: Runs, objects: Objects, retrieval: RetrievalService) -> Page:
    """Build the page."""
    with Page(title="Rankscope", fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
        sidebar(blocks, runs, TABS.values())
        with gr.Tabs(elem_id="rs-tabs", overflow_behavior="wrap"):
            for descriptor in TABS.values():
                with gr.Tab(descriptor.title, id=descriptor.name) as tab:
                    descriptor.build(TabContext(runs=runs, objects=objects))
                tab.select(fn=None, js=opened(descriptor))
        add_api(runs)
        add_object_api(objects)
        add_retrieval_api(retrieval)
        blocks.load(fn=None, js=_NARROW)
    return blocks
