"""The Retrieve tab: one query in the arms of several runs, results side by side, drawn by ``assets/retrieve``.

The modules fetch what they need themselves (see ``explorer.tabs.retrieve.routes``), as those of Live do.
"""

from __future__ import annotations

from explorer.page.scripted import scripted
from explorer.page.tab import Shared, Tab
from explorer.tabs.retrieve.api import retrieval_functions
from explorer.tabs.retrieve.routes import retrieval_routes
from explorer.tabs.retrieve.service import RetrievalService


def build(_service: RetrievalService) -> None:
    """Add the view to the tab."""
    scripted("retrieve/retrieve.js", "rs-retrieve", "Retrieve", loading="Opening the images …", elem_id="retrieve-view")


def service(shared: Shared) -> RetrievalService:
    """Make what answers the tab."""
    return RetrievalService(shared.settings, shared.library, shared.turns)


DESCRIPTOR = Tab(
    name="retrieve",
    title="Retrieve",
    order=10,
    service=service,
    build=build,
    routes=retrieval_routes,
    functions=retrieval_functions,
    close=RetrievalService.close,
    trains=True,
)
