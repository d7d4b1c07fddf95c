"""The Retrieve tab: one query in the arms of several runs, results side by side, drawn by ``assets/retrieve``.

The modules fetch what they need themselves (see ``explorer.server.retrieval.routes``), as those of Live do.
"""

from __future__ import annotations

from explorer.page.scripted import scripted
from explorer.page.tabs.base import TabContext, TabDescriptor


def build(_context: TabContext) -> None:
    """Add the view to the tab."""
    scripted("retrieve/retrieve.js", "rs-retrieve", "Retrieve", loading="Opening the images …", elem_id="retrieve-view")


DESCRIPTOR = TabDescriptor(name="retrieve", title="Retrieve", order=10, build=build, trains=True)
