"""The Live tab: linked maps of every loss, neighbours and curves, drawn by the modules in ``assets/live``.

They fetch what they need themselves (see :mod:`explorer.tabs.live.routes`), so the component takes no value, raises no
event, and Gradio never renders it again: the canvas, the view and the selection stay.
"""

from __future__ import annotations

from explorer.page.scripted import scripted
from explorer.page.tab import Shared, Tab
from explorer.tabs.live.routes import live_routes


def build(_shared: Shared) -> None:
    """Add the Live view to the tab."""
    scripted("live/live.js", "rs-live", "The maps", loading="Opening the maps …", elem_id="live-view")


DESCRIPTOR = Tab(name="live", title="Live", order=0, build=build, routes=live_routes, trains=True)
