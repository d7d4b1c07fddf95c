"""The plans that this program works on: it puts their runs in the queue, one after another."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable
from dataclasses import dataclass

from trainers.errors import RunError
from trainers.plans.children import AGAIN, Children, check_hopeful, children_of, total
from trainers.plans.coordinator import nothing_finished
from trainers.plans.planned import Child
from trainers.runs import RunFolder
from trainers.runs.damage import BusyError, reading
from trainers.runs.lock import RunLock
from trainers.runs.records import RunState

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Held:
    """A plan that is worked on. Its lock is held, so that no other program works on it."""

    folder: RunFolder
    children: Children
    lock: RunLock


class Plans:
    """Gives each plan one waiting run at a time, so that plans and single runs take turns.

    Args:
        add: puts a run at the end of the queue.
        waits: whether a run is in the queue, as opposed to training.
        busy: whether a run waits or trains.
        stop: takes a run out of the queue, or tells its trainer to stop.
    """

    def __init__(
        self,
        *,
        add: Callable[[RunFolder], None],
        waits: Callable[[str], bool],
        busy: Callable[[str], bool],
        stop: Callable[[RunFolder], None],
    ) -> None:
        self._add, self._waits, self._busy, self._stop = add, waits, busy, stop
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
            children = Children(folder)
            children.queue_again()
        self._held[folder.id] = _Held(folder=folder, children=children, lock=lock)

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
        for folder in children_of(held.folder):
            if self._busy(folder.id):
                self._stop(folder)
        return True

    def close(self) -> None:
        """Let go of every plan; they go on when the program starts again."""
        for held in list(self._held.values()):
            self._end(held, "queued", "it goes on when the program starts again")

    def _move_on(self, held: _Held) -> None:
        if held.lock.lost():
            self._drop(held)
            return
        children = held.children.all()
        if all(child.outcome is not None for child in children):
            self._finish(held, children)
            return
        check_hopeful(children)
        if not any(self._waits(child.id) for child in children):
            due = next((child for child in children if self._due(child)), None)
            folder = None if due is None else held.children.begin(due)
            if folder is not None:
                self._add(folder)
        state, known = total(children), held.folder.db.state()
        if dataclasses.replace(state, updated=known.updated) != known:  # twice a second, mostly nothing has moved
            held.folder.db.set_state(state)

    def _due(self, child: Child) -> bool:
        return child.outcome is None and not self._busy(child.id) and child.phase in ("planned", "queued", *AGAIN)

    def _finish(self, held: _Held, children: list[Child]) -> None:
        state = total(children)
        if not any(child.outcome is not None and child.outcome.finished for child in children):
            self._end(held, "failed", "failed", error=nothing_finished(children))
        else:
            self._end(held, "finished", state.message)

    def _end(self, held: _Held, phase: str, message: str, error: str | None = None) -> None:
        try:
            held.folder.db.set_state(dataclasses.replace(_known(held), phase=phase, message=message, error=error))
        except RunError as trouble:
            _log.warning("%s", trouble)
        self._drop(held)

    def _fail(self, held: _Held, sentence: str) -> None:
        _log.warning("plan %s: %s", held.folder.id, sentence)
        self._end(held, "failed", "failed", error=sentence)
        with contextlib.suppress(RunError):
            for folder in children_of(held.folder):
                if self._waits(folder.id):
                    self._stop(folder)

    def _drop(self, held: _Held) -> None:
        self._held.pop(held.folder.id, None)
        held.folder.db.close()
        held.lock.release()


def _known(held: _Held) -> RunState:
    """How far a plan is; as it was written last if its runs cannot be planned."""
    try:
        with reading(held.folder.id):
            return total(held.children.all())
    except RunError:
        return held.folder.db.state()
