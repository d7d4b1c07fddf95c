"""The runs of a plan on disk: made when it is their turn, found again by their ids, and more of them for new seeds."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from trainers.config import Config
from trainers.errors import DISK_FULL, ParameterError, RunError
from trainers.kinds import check, kind_of
from trainers.metrics.measures import final_numbers, last_numbers
from trainers.plans.base import plan_of
from trainers.plans.config import MOST_SEEDS, SweepConfig, sweep_of
from trainers.plans.planned import Child, Outcome, Outcomes, PlannedRun
from trainers.runs import RunFolder, list_runs
from trainers.runs.damage import reading
from trainers.runs.folder import id_within, in_the_making
from trainers.runs.lock import RunLock
from trainers.runs.records import PHASES, RunState

AGAIN = ("stopped", "failed", "interrupted")
"""Phases of runs that are trained on when their plan goes on."""
ATTEMPTS = 3
"""How often a run is tried whose trainer dies without a word."""


class Children:
    """The runs of one plan. They lie beside it, are its owner's, and name it in their file ``part_of``.

    Args:
        folder: of the plan.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.plan = folder
        self._config = sweep_of(folder.config)
        self._kind = plan_of(self._config)
        self._ended: dict[str, Outcome] = {}
        self._outcomes: Outcomes = {}  # at the last look, so that a long plan is not made step by step each time
        self._begun: Counter[str] = Counter()

    def all(self) -> list[Child]:
        """List every run that is planned so far, in order."""
        seen: dict[str, Child] = {}
        while True:  # what came of the runs may lead to further ones
            planned = self._kind.plan(self._config, self._outcomes)
            seen |= {run.name: self._child(run) for run in planned if run.name not in seen}
            children = [dataclasses.replace(seen[run.name], planned=run) for run in planned]
            ended = {child.planned.name: child.outcome for child in children if child.outcome is not None}
            if ended == self._outcomes:
                return children
            self._outcomes = ended

    def begin(self, child: Child) -> RunFolder | None:
        """Return the folder of a run that is to be trained, made if it is not there.

        None: its trainer has died several times since the plan went on, and the run is now ``failed``.

        Raises:
            RunError: it cannot be made or is damaged.
        """
        self._begun[child.id] += 1
        folder = self._open(child)
        if self._begun[child.id] <= ATTEMPTS:
            return folder
        error = f"Its trainer ended {ATTEMPTS} times before it was done; its log and output.txt may say why."
        folder.db.set_state(dataclasses.replace(folder.state(), phase="failed", message="failed", error=error))
        folder.db.close()
        return None

    def _open(self, child: Child) -> RunFolder:
        if child.phase != "planned":
            return RunFolder.open(self.plan.path.parent, child.id)
        return RunFolder.create(
            self.plan.path.parent,
            child.planned.config,
            owner=self.plan.owner,
            run_id=child.id,
            part_of=self.plan.id,
            place_in_plan=child.planned.title,
            processes=self.plan.processes,
            track=self.plan.track,
        )

    def queue_again(self) -> None:
        """Let the runs that were stopped, interrupted or failed be trained on."""
        for folder in children_of(self.plan):
            try:
                state = folder.state()
                if state.phase in AGAIN:
                    folder.db.set_state(dataclasses.replace(state, phase="interrupted", error=None))
            except RunError:
                continue  # damaged: its plan says so
            finally:
                folder.db.close()
        self._ended.clear()

    def _child(self, planned: PlannedRun) -> Child:
        run_id = id_within(self.plan.id, planned.name)
        path = self.plan.path.parent / run_id
        if run_id in self._ended and path.is_dir():
            return Child(planned=planned, id=run_id, phase=_phase(self._ended[run_id]), outcome=self._ended[run_id])
        if not path.is_dir() or in_the_making(path):
            return Child(planned=planned, id=run_id, phase="planned")
        message = ""
        try:
            state, outcome = _read(self.plan.beside(run_id), planned.config)
            phase, message = state.phase, state.message
        except RunError as error:
            phase, outcome = "failed", Outcome(finished=False, error=str(error))
        if outcome is not None:
            self._ended[run_id] = outcome
        return Child(planned=planned, id=run_id, phase=phase, message=message, outcome=outcome)


def children_of(plan: RunFolder) -> Iterator[RunFolder]:
    """Yield the runs beside a plan that are its own, whether it still plans them or not."""
    for folder in list_runs(plan.path.parent, read_only=plan.read_only):
        if folder.part_of == plan.id:
            yield folder


def check_hopeful(children: Sequence[Child]) -> None:
    """Refuse to go on with a plan whose next runs would fail as one did: the disk is full, or no run could begin yet.

    Raises:
        RunError: with the first such run and its error.
    """
    ended = [(child, child.outcome) for child in children if child.outcome is not None and not child.outcome.finished]
    begun = any(child.outcome is not None and child.outcome.begun for child in children)
    left = sum(child.outcome is None for child in children)
    for child, outcome in ended if left else ():
        if outcome.error.startswith(DISK_FULL) or not (begun or outcome.begun):
            raise RunError(
                f"{outcome.error} The run {child.planned.title} has ended with this, and the {left} that are left are "
                "not tried: they would end in the same way. Resume the plan once this is put right."
            )


def ended_words(children: Sequence[Child]) -> str:
    """Say how many runs have ended: ``2 of 6 runs finished``, or ``1 of 6 runs failed, 2 finished``."""
    ended = [_phase(child.outcome) for child in children if child.outcome is not None]
    finished = ended.count("finished")
    lost = lacking(ended, len(children))
    return f"{lost}, {finished} finished" if lost else f"{finished} of {len(children)} runs finished"


def lacking(phases: Iterable[str], planned: int) -> str:
    """Say how many of so many runs failed or were stopped: ``2 of 9 runs failed, 1 was stopped``; empty: none."""
    known = list(phases)
    failed, stopped = known.count("failed"), known.count("stopped")
    was = "was" if stopped == 1 else "were"
    words = [f"{failed} failed"] if failed else []
    words += [f"{stopped} {was} stopped"] if stopped else []
    return ", ".join(words).replace(" ", f" of {planned} run{'s' if planned != 1 else ''} ", 1)


def total(children: Sequence[Child]) -> RunState:
    """Return the state of a plan whose runs stand like this, as far as they say it: how many of them have ended."""
    ended = [child.outcome for child in children if child.outcome is not None]
    active = [child for child in children if child.active]
    at_work = [f"{child.planned.title} ({child.message})" if child.message else child.planned.title for child in active]
    words = [ended_words(children), *([f"at work: {'; '.join(at_work)}"] if at_work else [])]
    return RunState(
        phase="running",
        step=len(ended),
        planned_steps=len(children),
        seconds=sum(outcome.seconds for outcome in ended),
        message=", ".join(words),
    )


def _read(folder: RunFolder, config: Config) -> tuple[RunState, Outcome | None]:
    try:
        folder.check()
        with reading(folder.id):
            state = folder.state()
            if state.phase == "finished":
                return state, Outcome(
                    finished=True, numbers=ended_with(folder, config), seconds=state.seconds, steps=state.step
                )
            if state.phase in ("failed", "stopped"):
                stopped = state.phase == "stopped"
                error = "It was stopped." if stopped else state.error or "It failed without a message."
                begun = stopped or state.step > 0 or bool(folder.snapshots())
                outcome = Outcome(finished=False, stopped=stopped, begun=begun, seconds=state.seconds, error=error)
                return state, outcome
            return state, None
    finally:
        folder.db.close()


def ended_with(folder: RunFolder, config: Config) -> tuple[dict[str, float], ...]:
    """Return the final numbers of each arm, ``test/`` taken off, and the last of its training that are compared."""
    scalars, compared = folder.scalars(), kind_of(config).measures_of(config).compared
    last = last_numbers(scalars, config.arms, compared)
    return tuple(numbers | final for numbers, final in zip(last, final_numbers(scalars, config.arms), strict=True))


def _phase(outcome: Outcome) -> str:
    return "finished" if outcome.finished else "stopped" if outcome.stopped else "failed"


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
