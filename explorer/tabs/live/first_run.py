"""The run that is shown first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from explorer.server.library import Library
from explorer.server.run import Run
from trainers.errors import RunError
from trainers.kinds import KINDS, kind_of
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.runs.records import PHASES


def _phase(run: Run) -> str:
    return run.folder.state().phase


def start(library: Library, theirs: Callable[[RunFolder], bool] = lambda _folder: True) -> str | None:
    """Choose the run that is seen first: of a visitor's own one that trains or the last finished one, else a recording.

    Args:
        theirs: whether a run that is no recording is the visitor's.
    """
    ranked = []
    for folder in library.folders():
        try:
            run = library.get(folder.id)
            phase = run.at_rest("phase", partial(_phase, run))
            if kind_of(run.config).no_images or (run.recorded and run.folder.part_of):
                continue  # a plan has no map, and its runs are opened from it
        except RunError:
            continue  # a damaged run is shown in the list, never first
        if run.recorded:
            ranked.append((2 + list(KINDS).index(run.config.kind), folder.id))
        elif theirs(folder) and (PHASES[phase].active or phase == "finished"):
            ranked.append((phase == "finished", folder.id))
    ordered = sorted(ranked, key=lambda candidate: candidate[0])  # of equal ones the newest comes first
    return next((run_id for _, run_id in ordered if _shows(library, run_id)), None)


def _shows(library: Library, run_id: str) -> bool:
    """Return whether the images of a run can be read; those of one that has just begun come later."""
    try:
        with reading(run_id):
            library.get(run_id).probe  # noqa: B018  (it is read)
    except RunError:
        return False
    return True
