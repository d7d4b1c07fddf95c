"""The Runs tab: every run with its state, size and headline numbers; open, resume, download, delete.

``assets/runs/runs.js`` draws the list from ``GET runs`` while somebody looks at it. What changes a run goes through a
Gradio event of this component, and so through Gradio's own checks.
"""

from __future__ import annotations

from explorer.page.run_buttons import acting
from explorer.page.tabs.base import TabContext, TabDescriptor


def build(context: TabContext) -> None:
    """Add the list to the tab."""
    acting(
        context.runs,
        "runs/runs.js",
        "rs-runs",
        "The list of runs",
        said="rs-runs-said",
        loading="Reading the runs …",
        elem_id="rs-runs-list",
    )


DESCRIPTOR = TabDescriptor(name="runs", title="Runs", order=80, build=build, trains=True)
