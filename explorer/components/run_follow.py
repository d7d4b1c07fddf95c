"""A run as it goes: a line, small curves, its buttons, and the models that it ends in."""

from __future__ import annotations

from typing import Any

from explorer.components.drawn import Drawn

_EVENTS = """
  act: (asked) => trigger("act", asked),
  use: (model) => trigger("use", model),
"""


class RunFollow(Drawn):
    """Its value is the id of a run, empty for none.

    ``act`` brings ``{"action": ..., "id": ..., "token": ...}``, ``use`` the ``name`` of a model of the run.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("run_follow", "rs-object rs-runfollow", "The run", _EVENTS, **options)
