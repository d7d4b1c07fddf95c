"""The Compare tab: the runs of a sweep and what they say together, drawn by ``assets/compare``.

The modules fetch the report of the plan that is open (see :mod:`explorer.tabs.compare.routes`).
"""

from __future__ import annotations

from explorer.page.run_buttons import acting
from explorer.page.tab import Shared, Tab
from explorer.tabs.compare.routes import plan_routes


def build(shared: Shared) -> None:
    """Add the view to the tab."""
    acting(
        shared.runs,
        "compare/compare.js",
        "rs-comparison",
        "The comparison",
        said="rs-compare-said",
        loading="Opening the comparison …",
        elem_id="compare-view",
    )


DESCRIPTOR = Tab(name="compare", title="Compare", order=5, build=build, routes=plan_routes, trains=True)
