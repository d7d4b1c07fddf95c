"""The Compare tab: the runs of a sweep and what they say together, drawn by ``assets/compare``.

The modules fetch the report of the plan that is open (see :mod:`explorer.server.plan_routes`).
"""

from __future__ import annotations

from explorer.page.run_buttons import acting
from explorer.page.tabs.base import TabContext, TabDescriptor


def build(context: TabContext) -> None:
    """Add the view to the tab."""
    acting(
        context.runs,
        "compare/compare.js",
        "rs-comparison",
        "The comparison",
        said="rs-compare-said",
        loading="Opening the comparison …",
        elem_id="compare-view",
    )


DESCRIPTOR = TabDescriptor(name="compare", title="Compare", order=5, build=build, trains=True, plans=True)
