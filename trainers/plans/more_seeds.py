"""Adds seeds to a plan that has ended: its folder and its finished runs stay, and only the new ones are trained."""

from __future__ import annotations

import dataclasses
import itertools

from trainers.errors import ParameterError, RunError
from trainers.kinds import check
from trainers.plans.children import Children, total
from trainers.plans.config import SweepConfig, sweep_of
from trainers.plans.seeds import MOST_SEEDS
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock
from trainers.runs.records import PHASES


def with_more_seeds(config: SweepConfig, count: int) -> SweepConfig:
    """Return the plan with ``count`` more seeds, the smallest that it has not.

    Raises:
        UserError: these are none or too many, the plan would have too many runs, or something of it is lost.
    """
    config.check_whole()
    most = MOST_SEEDS - len(config.seeds)
    if not 1 <= count <= most:
        can = f"1 to {most} more seeds can be added" if most > 0 else "no seed can be added"
        raise ParameterError(f"It has {len(config.seeds)} of at most {MOST_SEEDS} seeds, so {can}; got {count}.")
    fresh = itertools.islice((seed for seed in itertools.count() if seed not in config.seeds), count)
    more = dataclasses.replace(config, seeds=(*config.seeds, *fresh))
    check(more)
    return more


def add_seeds(folder: RunFolder, count: int) -> SweepConfig:
    """Write the plan with more seeds into its folder, and let it be resumed.

    Raises:
        UserError: as of :func:`with_more_seeds`; it is no plan, cannot be changed, or is worked on.
    """
    more = with_more_seeds(sweep_of(folder.config), count)
    if not folder.writable:
        raise RunError(f"The comparison {folder.id} cannot be changed here: it is a recording, or read-only.")
    lock = RunLock(folder.path)
    if PHASES[folder.state().phase].moving or not lock.acquire():
        raise RunError(f"The comparison {folder.id} waits or trains; add seeds when it has ended, or stop it first.")
    try:
        folder.replace_plan(more)
        state = total(Children(folder).all())
        folder.db.set_state(dataclasses.replace(state, phase="stopped", message=f"{count} seeds added"))
        folder.log(f"{count} seeds added: {', '.join(map(str, more.seeds))}")
    finally:
        lock.release()
    return more
