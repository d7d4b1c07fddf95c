"""The queue of runs, as pure functions: which train next, where each one waits and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trainers.config import RunConfig
from trainers.runs.records import RunState


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run as the queue sees it.

    Attributes:
        id: of the run; ids sort by time.
        owner: digest of its owner's token.
        since: when it joined the queue, seconds since the epoch.
        minutes: training that it still wants, None if its budget is counted in steps and its speed is unknown.
        slots: that it takes, one for each GPU that trains it.
    """

    id: str
    owner: str = ""
    since: float = 0.0
    minutes: float | None = None
    slots: int = 1


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Where a run stands in the queue.

    Attributes:
        position: 1 is next.
        minutes: estimated wait; None if a run ahead has no known end.
    """

    position: int
    minutes: float | None


def ordered(waiting: Sequence[Job]) -> list[Job]:
    """Order the queue: the run that joined first is first."""
    return sorted(waiting, key=lambda job: (job.since, job.id))


def next_up(waiting: Sequence[Job], training: Sequence[Job], slots: int, per_owner: int | None) -> list[Job]:
    """Choose the runs to start now.

    An owner at their cap is passed over, so that one person's runs never hold up the others. A run that needs more
    slots than are free waits for all of them, and those behind it wait too.

    Args:
        slots: runs that may train at once, each with one process.
        per_owner: runs of one owner that may train at once; None: no cap.
    """
    held = Counter(job.owner for job in training)
    free = slots - sum(job.slots for job in training)
    chosen: list[Job] = []
    for job in ordered(waiting):
        if per_owner is not None and held[job.owner] >= per_owner:
            continue
        if job.slots > free:
            break
        free -= job.slots
        held[job.owner] += 1
        chosen.append(job)
    return chosen


def wait(waiting: Sequence[Job], training: Sequence[Job], slots: int, run_id: str) -> Wait | None:
    """Return the wait of ``run_id``, None if it does not wait; the estimate spreads the work ahead over the slots."""
    order = ordered(waiting)
    ids = [job.id for job in order]
    if run_id not in ids:
        return None
    ahead = order[: ids.index(run_id)]
    work = [job.minutes and job.minutes * job.slots for job in (*ahead, *training)]
    needed = waiting[[job.id for job in waiting].index(run_id)].slots
    free = sum(job.slots for job in (*ahead, *training)) + needed <= slots
    known = [minutes for minutes in work if minutes is not None]
    total = None if len(known) < len(work) else sum(known) / max(slots, 1)
    return Wait(position=len(ahead) + 1, minutes=0.0 if free else total)


def minutes_left(config: RunConfig, state: RunState) -> float | None:
    """Return the training that a run still wants, in minutes; None if it counts in steps and none is done yet."""
    by_time = None if config.minutes is None else max(0.0, config.minutes - state.seconds / 60)
    steps = config.steps if config.epochs is None else state.planned_steps  # a trainer knows how long its epochs are
    if steps is None or state.step == 0:
        return by_time
    by_steps = max(0, steps - state.step) * state.seconds / state.step / 60
    return by_steps if by_time is None else min(by_time, by_steps)
