"""What can be downloaded of a run, and pushed to the Hub: a button with a menu."""

from __future__ import annotations

import json
from typing import Any

from explorer.components.drawn import Drawn
from explorer.server.states import Json


class Downloads(Drawn):
    """The downloads of one run; its value is what :func:`offer` returns, empty for none."""

    def __init__(self, **options: Any) -> None:
        super().__init__("downloads", "rs-downloadable", "Downloads", **options)


def offer(run: Json) -> str:
    """Describe a run with its ``downloads`` and ``losses``."""
    return json.dumps({name: run[name] for name in ("id", "downloads", "losses")})
