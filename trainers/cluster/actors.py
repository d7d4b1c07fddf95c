"""The actors of a cluster that have a run, by their names."""

from __future__ import annotations

import contextlib
from typing import Any


def keeper_name(run_id: str) -> str:
    """Return the name of the actor that keeps a run that has ended; the one that trains it has the run's id."""
    return f"{run_id}-ended"


def actor_of(ray: Any, run_id: str) -> Any:
    """Return the actor that keeps the run, as it has ended, or trains it; None: the cluster has none."""
    for name in (keeper_name(run_id), run_id):
        with contextlib.suppress(ValueError):
            return ray.get_actor(name)
    return None
