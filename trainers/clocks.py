"""How often what waits for another thread or process looks again.

Every such interval stands where it is used, as ``interval(seconds)``. The environment variable
``RANKSCOPE_LOOK_SECONDS`` bounds them all, in this process and in those that it starts, so that tests need not wait as
long as people may.
"""

from __future__ import annotations

import os

_LONGEST = float(os.environ.get("RANKSCOPE_LOOK_SECONDS") or "inf")


def interval(seconds: float) -> float:
    """Return the seconds between two looks: as many as given, or fewer where the environment says so."""
    return min(seconds, _LONGEST)
