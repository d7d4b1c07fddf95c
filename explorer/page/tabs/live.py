"""The Live tab: linked maps of every loss, neighbours and curves, drawn by the modules in ``assets``.

The page's modules fetch what they need themselves (see ``explorer.server.routes``), so this component's value never
changes and Gradio never renders it again: the canvas, the view and the selection stay.
"""

from __future__ import annotations

import gradio as gr

from explorer.page.tabs.base import TabContext, TabDescriptor

_TEMPLATE = '<div class="rs-live"><p class="rs-loading">Opening the maps …</p></div>'
_LOAD = """
const root = (window.gradio_config?.root ?? location.origin).replace(/\\/$/, "");
import(`${root}/gradio_api/rankscope/assets/live/live.js`).then(
  (live) => live.mount(element),
  (error) => {
    const host = element.querySelector(".rs-loading");
    if (host) host.textContent = `The maps could not be opened: ${error.message}. Reload the page.`;
  },
);
"""


def live_view() -> gr.HTML:
    """The component that the page's modules mount into; it takes no value and raises no event."""
    return gr.HTML(html_template=_TEMPLATE, js_on_load=_LOAD, apply_default_css=False, elem_id="live-view")


def build(_context: TabContext) -> None:
    """Add the Live view to the tab."""
    live_view()


DESCRIPTOR = TabDescriptor(name="live", title="Live", order=0, build=build, trains=True)
