"""What becomes of a run that an earlier program left in the runs folder."""

from __future__ import annotations

from typing import Literal

from trainers.cluster.holding import has_record
from trainers.kinds import kind_of
from trainers.runs import RunFolder
from trainers.runs.records import PHASES

Course = Literal["queue", "watch", "collect", "leave"]
"""What is to do: put it in the queue; watch its own trainer, which lives; fetch what a cluster keeps of it; nothing."""


def course_of(folder: RunFolder) -> Course:
    """Return what is to be done about a run of an earlier program.

    Raises:
        RunError: it cannot be read.
    """
    folder.check()
    phase = folder.db.state().phase
    if phase == "queued":
        return "queue" if folder.writable else "leave"
    if PHASES[phase].active and folder.is_alive():
        return "watch"
    if PHASES[phase].active and folder.writable and (is_plan(folder) or has_record(folder)):
        return "queue"
    if phase == "finished" and folder.writable and has_record(folder) and not folder.is_alive():
        return "collect"
    return "leave"


def is_plan(folder: RunFolder) -> bool:
    """Return whether it is a plan, which goes on when the program starts and needs no slot."""
    return kind_of(folder.config).plans


def goes_on(folder: RunFolder) -> bool:
    """Return whether a cluster trains the run though no process here follows it."""
    return PHASES[folder.db.state().phase].active and has_record(folder) and folder.writable
