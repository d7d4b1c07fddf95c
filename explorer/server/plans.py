"""The plans that this program works on: their runs go through the queue, one after another."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainers.errors import RunError
from trainers.plans.children import children_of
from trainers.plans.runner import PlanRunner
from trainers.runs import RunFolder
from trainers.runs.damage import BusyError, reading
from trainers.runs.lock import RunLock
from trainers.runs.records import RunState
from trainers.training.executor import Device, Ended

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunQueue:
    """The page's queue, as plans use it.

    Attributes:
        add: puts a run at its end.
        waits: whether a run is in it, as opposed to training.
        busy: whether a run waits or trains.
        stop: takes a run out of it, or tells its trainer to stop.
    """

    add: Callable[[RunFolder], None]
    waits: Callable[[str], bool]
    busy: Callable[[str], bool]
    stop: Callable[[RunFolder], None]


class QueueExecutor:
    """Trains the runs of a plan by the queue, in which one of them waits at a time: plans and single runs take turns.

    See :class:`trainers.training.executor.Executor`.
    """

    def __init__(self, plan: RunFolder, queue: RunQueue) -> None:
        self._plan, self._queue = plan, queue
        self._launched = {folder.id for folder in children_of(plan) if queue.busy(folder.id)}

    def free(self, processes: int = 1) -> Device | None:
        """Return the one place in the queue, unless a run of the plan has it."""
        return None if any(map(self._queue.waits, self._launched)) else Device(processes=processes)

    def launch(self, folder: Path, _device: Device) -> None:
        """Put a run into the queue, which chooses its device."""
        self._launched.add(folder.name)
        self._queue.add(RunFolder(folder))

    def holds(self, run_id: str) -> bool:
        """Return whether a run waits or trains."""
        return self._queue.busy(run_id)

    def reap(self) -> Sequence[Ended]:
        """Return nothing: the queue notes itself which trainers have ended."""
        self._launched = set(filter(self._queue.busy, self._launched))
        return ()

    def kill(self, run_id: str) -> None:
        """Take a run out of the queue if it waits there."""
        if self._queue.waits(run_id):
            self._queue.stop(self._plan.beside(run_id))

    def close(self) -> None:
        """Stop the runs of the plan."""
        for folder in children_of(self._plan):
            if self._queue.busy(folder.id):
                self._queue.stop(folder)


@dataclass(frozen=True, kw_only=True)
class _Held:
    """A plan that is worked on. Its lock is held, so that no other program works on it."""

    folder: RunFolder
    runner: PlanRunner
    executor: QueueExecutor
    lock: RunLock


class Plans:
    """Works on plans as ``trainers.worker`` does, but in this process: they need no device, only their runs do."""

    def __init__(self, queue: RunQueue) -> None:
        self._queue = queue
        self._held: dict[str, _Held] = {}

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._held

    def take(self, folder: RunFolder) -> None:
        """Begin to work on a plan, or go on with it; nothing happens if another program does.

        Raises:
            RunError: it cannot be read.
        """
        lock = RunLock(folder.path)
        if not lock.acquire():
            folder.db.close()
            return
        with reading(folder.id):
            executor = QueueExecutor(folder, self._queue)
            runner = PlanRunner(folder, executor=executor)
        self._held[folder.id] = _Held(folder=folder, runner=runner, executor=executor, lock=lock)

    def tick(self) -> None:
        """Put the next run of every plan in the queue, and record how far each one is."""
        for held in list(self._held.values()):
            try:
                with reading(held.folder.id):
                    self._move_on(held)
            except BusyError:
                continue  # at the next tick again
            except RunError as error:
                self._fail(held, str(error))

    def stop(self, run_id: str) -> bool:
        """Stop the runs of a plan and the plan itself; False if it is not worked on here."""
        held = self._held.get(run_id)
        if held is None:
            return False
        self._end(held, "stopped", "stopped; it can be resumed")
        held.executor.close()
        return True

    def close(self) -> None:
        """Let go of every plan; they go on when the program starts again."""
        for held in list(self._held.values()):
            self._end(held, "queued", "it goes on when the program starts again")

    def _move_on(self, held: _Held) -> None:
        if held.lock.lost():
            self._drop(held)
            return
        if not held.runner.move_on():
            held.runner.finish()
            self._end(held, "finished", held.runner.how_far)
            return
        state, known = held.runner.state, held.folder.db.state()
        if dataclasses.replace(state, updated=known.updated) != known:  # twice a second, mostly nothing has moved
            held.folder.db.set_state(state)

    def _end(self, held: _Held, phase: str, message: str, error: str | None = None) -> None:
        try:
            held.folder.db.set_state(dataclasses.replace(_known(held), phase=phase, message=message, error=error))
        except RunError as trouble:
            _log.warning("%s", trouble)
        self._drop(held)

    def _fail(self, held: _Held, sentence: str) -> None:
        _log.warning("plan %s: %s", held.folder.id, sentence)
        self._end(held, "failed", "failed", error=sentence)
        for child in held.runner.children:
            with contextlib.suppress(RunError):
                held.executor.kill(child.id)

    def _drop(self, held: _Held) -> None:
        self._held.pop(held.folder.id, None)
        held.folder.db.close()
        held.lock.release()


def _known(held: _Held) -> RunState:
    """Look how far a plan is; as it was written last if its runs cannot be looked at."""
    try:
        with reading(held.folder.id):
            return held.runner.look()
    except RunError:
        return held.folder.db.state()
