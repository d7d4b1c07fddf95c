"""The Live tab: linked maps of every loss, neighbours and curves, drawn by the modules in ``assets/live``.

They fetch what they need themselves (see ``explorer.server.routes``), so the component takes no value, raises no event,
and Gradio never renders it again: the canvas, the view and the selection stay.
"""

from __future__ import annotations

from explorer.page.scripted import scripted
from explorer.page.tabs.base import TabContext, TabDescriptor


def build(_context: TabContext) -> None:
    """Add the Live view to the tab."""
    scripted("live/live.js", "rs-live", "The maps", loading="Opening the maps …", elem_id="live-view")


DESCRIPTOR = TabDescriptor(name="live", title="Live", order=0, build=build, trains=True)
