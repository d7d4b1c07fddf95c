"""Which comparison the tab shows; it is asked after while it is seen."""

from __future__ import annotations

from typing import Any

from explorer.components.drawn import Drawn

_EVENTS = """
  hub: (asked) => trigger("hub", asked),
  moved: () => trigger("moved"),
"""


class OpenPlan(Drawn):
    """Its value is ``{"id": ..., "hub": ...}`` of the plan that is shown, None before there is one.

    ``hub`` brings the ``name`` of a comparison of the Hub that the address of the page asks for. ``moved`` is triggered
    when the plan that is shown has changed, and when another part of the page asks for one, in ``rankscopeWanted``.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("open_plan", "rs-openplan", "The comparison", _EVENTS, **options)
