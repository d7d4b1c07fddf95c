"""The environment bounds how long anything waits before it looks again."""

from __future__ import annotations

import os

from explorer.server.scheduler import TICK_SECONDS
from trainers.progress import interval


def test_the_environment_bounds_every_interval() -> None:
    bound = float(os.environ["RANKSCOPE_LOOK_SECONDS"])
    assert interval(bound / 2) == bound / 2 and interval(60.0) == TICK_SECONDS == bound
