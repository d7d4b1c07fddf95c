"""The runs that a plan which has ended has no result of: they failed or were stopped, and can be resumed."""

from __future__ import annotations

from collections.abc import Iterable

from trainers.kinds import kind_of
from trainers.plans.children import Children, lacking
from trainers.runs import RunFolder


def lacks(folder: RunFolder) -> str:
    """Say of a finished plan how many of its runs have no result: ``2 of 9 runs failed``.

    Returns:
        nothing where every run has one, and for what is no finished plan.
    """
    if not kind_of(folder.config).plans or folder.state().phase != "finished":
        return ""
    children = Children(folder).all()
    return lacking((child.phase for child in children), len(children))


def lacking_among(phase: str, runs: Iterable[str], planned: int | None) -> str:
    """Say the same where the phases of plan and runs are known already; ``planned``: how many runs, None: as many."""
    phases = list(runs)
    return lacking(phases, max(planned or 0, len(phases))) if phase == "finished" else ""
