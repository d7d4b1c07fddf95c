"""Training on ZeroGPU, which lends a GPU to one call at a time, in the name of the visitor who asks for it.

The trainer of a run is an ordinary process on the CPU, which reads the images, sets the run up and leaves it in the
phase ``between slices``. From then on the page of whoever started it asks for one slice after another.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import re
import threading
import time
from pathlib import Path
from typing import Any

from explorer.server.lending import Lend, asked, set_up_of, train_slice
from explorer.server.runs import Runs
from explorer.server.visitors import Caller
from explorer.settings import Settings
from trainers.errors import RunError, UserError
from trainers.kinds import kind_of
from trainers.plans.children import children_of
from trainers.runs import RunFolder
from trainers.runs.records import BETWEEN_SLICES, PHASES
from trainers.runs.slice_cost import read_cost, write_cost
from trainers.training.executor import Device, Ended, ProcessExecutor, worker_command
from trainers.worker import PREPARE

LEAST, SHORTEST, LONGEST = 5.0, 15.0, 60.0
"""Seconds of training in a slice: with what is left of a quota, and otherwise, twice as long as setting up takes."""
ABANDONED = 600.0
"""Seconds after which a run between slices that no page asks for is no longer counted as one that trains."""
TRIES = 3
"""Slices in a row that may end before they have made a step."""
TAKEN_BACK = "ZeroGPU worker error"
"""Title of what ZeroGPU raises when a call did not come to its end."""
_LEFT = re.compile(r"\((\d+)s requested vs\. (-?\d+)s left\)")
_log = logging.getLogger(__name__)


class SliceExecutor(ProcessExecutor):
    """Has runs that may train on a GPU set up by processes on the CPU; those that may not train there to their end."""

    def __init__(self, *, detach: bool = False) -> None:
        super().__init__(detach=detach, command=self._trainer)
        self._on_cpu: set[str] = set()
        self._prepared: dict[str, Path] = {}
        self._until: dict[str, float] = {}  # monotonic seconds until which a run between slices counts

    def stay_on_cpu(self, run_id: str) -> None:
        """Have a run trained to its end on the CPU when it is launched again."""
        self._on_cpu.add(run_id)

    def launch(self, folder: Path, device: Device) -> None:
        """See :class:`ProcessExecutor`."""
        self._prepared[folder.name] = folder
        super().launch(folder, device)

    def reap(self) -> list[Ended]:
        """See :class:`ProcessExecutor`."""
        ended = super().reap()
        for each in ended:
            folder = RunFolder(self._prepared.pop(each.id))
            try:
                if _phase(folder) == BETWEEN_SLICES:
                    self.note_asked(folder)
            except RunError as error:
                _log.warning("%s", error)
            finally:
                folder.db.close()
        return ended

    def note_asked(self, folder: RunFolder) -> None:
        """Count a run between slices as one that trains: for a while, or as long as its plan waits for it."""
        self._until[folder.id] = math.inf if folder.part_of else time.monotonic() + ABANDONED

    def holds(self, run_id: str) -> bool:
        """Return whether a run is set up, trained, or between slices that its page asks for."""
        return time.monotonic() < self._until.get(run_id, 0.0) or super().holds(run_id)

    def kill(self, run_id: str) -> None:
        """See :class:`ProcessExecutor`; a run between slices is no longer counted as one that trains."""
        self._until.pop(run_id, None)
        super().kill(run_id)

    def _trainer(self, folder: Path) -> list[str]:
        path = folder.resolve()
        sliced = RunFolder(path).config.single.device == "auto" and path.name not in self._on_cpu
        program, *rest = worker_command(path)
        return [program, *rest[:-1], PREPARE, rest[-1]] if sliced else [program, *rest]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of asking for a slice.

    Attributes:
        said: a sentence; empty if there is nothing to say.
        wait: ask again a little later: the run is being set up or trained.
        refused: no GPU was lent; nothing is lost.
        over: this page has nothing to ask for this run.
    """

    said: str = ""
    wait: bool = False
    refused: bool = False
    over: bool = False


class Slices:
    """Answers the pages that ask for slices.

    Args:
        lend: :func:`explorer.server.lending.train_slice`, or what has it done on a GPU.
    """

    def __init__(self, settings: Settings, runs: Runs, executor: SliceExecutor, lend: Lend = train_slice) -> None:
        self._settings = settings
        self._runs = runs
        self._executor = executor
        self.lend = lend
        self._lock = threading.Lock()
        self._at_work: set[str] = set()
        self._in_vain: dict[str, int] = {}

    def go_on(self, run_id: str, token: str, caller: Caller) -> Answer:
        """Train a run, or the next run of a plan, for one slice."""
        try:
            folder = self._runs.controlled(run_id, token, caller)
        except RunError:
            return Answer(over=True)
        try:
            due = next(_due(folder), None)
            if due is None:
                return Answer(wait=PHASES[_phase(folder)].moving, over=not PHASES[_phase(folder)].moving)
            with self._lock:
                if due.id in self._at_work:
                    return Answer(wait=True)
                self._at_work.add(due.id)
            try:
                return self._slice(due)
            finally:
                self._at_work.discard(due.id)
        finally:
            folder.db.close()

    def on_cpu(self, run_id: str, token: str, caller: Caller) -> str:
        """Have a run, or the runs of a plan that are between slices, trained on the CPU; returns a sentence."""
        folder = self._runs.controlled(run_id, token, caller)
        try:
            plan = kind_of(folder.config).plans
            for each in _due(folder) if plan else (folder,):
                self._executor.stay_on_cpu(each.id)
                self._executor.kill(each.id)  # of a plan: it is launched again
            if not plan:
                self._runs.resume(run_id, token, caller)
            return "It goes on on the CPU, with this page open or not."
        finally:
            folder.db.close()

    def _slice(self, folder: RunFolder) -> Answer:
        before = read_cost(folder.path)
        if self._too_long(folder, before.lent):
            return Answer(over=True)
        self._executor.note_asked(folder)
        seconds = min(max(2 * set_up_of(folder.path), SHORTEST), LONGEST)
        step = folder.db.state().step
        try:
            try:
                took = self.lend(str(folder.path), seconds)
            except Exception as error:
                less = _affordable(str(error), asked(str(folder.path), seconds), seconds)
                if less is None or less < LEAST:
                    raise
                took = self.lend(str(folder.path), less)
        except UserError as error:  # of the run, not of ZeroGPU
            return Answer(said=str(error), over=True)
        except Exception as error:
            return self._without(folder, error, asked(str(folder.path), seconds))
        finally:
            self._executor.note_asked(folder)
        cost = read_cost(folder.path)
        write_cost(folder.path, dataclasses.replace(cost, lent=before.lent + took))
        return self._counted(folder, folder.db.state().step == step)

    def _without(self, folder: RunFolder, error: Exception, seconds: float) -> Answer:
        """Answer that no GPU was lent, or that it was taken back before the checkpoint."""
        sentence = str(getattr(error, "message", "") or error)
        begun = getattr(error, "title", "") == TAKEN_BACK or PHASES[_phase(folder)].active
        if not begun or folder.is_alive():
            _log.info("no GPU for run %s: %s", folder.id, sentence)
            return Answer(said=f"ZeroGPU: {sentence.strip()} Nothing is lost.", refused=True)
        cost = read_cost(folder.path)
        write_cost(
            folder.path, dataclasses.replace(cost, set_up=1.5 * set_up_of(folder.path), lent=cost.lent + seconds)
        )
        folder.log(f"the GPU was taken back before the checkpoint: {sentence}")
        self._set(folder, BETWEEN_SLICES, "the GPU was taken back; it goes on from the last checkpoint")
        return self._counted(folder, in_vain=True)

    def _counted(self, folder: RunFolder, in_vain: bool) -> Answer:
        """Give a run up whose slices bring it no further."""
        moving = PHASES[_phase(folder)].moving
        if not (in_vain and moving):
            self._in_vain.pop(folder.id, None)
            return Answer(wait=moving, over=not moving)
        self._in_vain[folder.id] = self._in_vain.get(folder.id, 0) + 1
        if self._in_vain[folder.id] < TRIES:
            return Answer(wait=True)
        del self._in_vain[folder.id]
        self._set(folder, "stopped", "a GPU is lent for too short a time to set this run up; resume it on the CPU")
        self._executor.kill(folder.id)
        return Answer(
            said=f"The last {TRIES} slices came no further; of each, setting this run up takes "
            f"{set_up_of(folder.path):.0f} s. Nothing is lost, and it can go on on the CPU.",
            refused=True,
        )

    def _too_long(self, folder: RunFolder, lent: float) -> bool:
        """Stop a run that has been lent a GPU for as long as a public page lets one hold its slot."""
        minutes = self._settings.limits.wall_minutes
        if not self._settings.public or lent < 60 * minutes:
            return False
        self._set(folder, "stopped", f"stopped: on this page a run has a GPU for {minutes:g} minutes at most")
        self._executor.kill(folder.id)
        return True

    @staticmethod
    def _set(folder: RunFolder, phase: str, message: str) -> None:
        folder.db.set_state(dataclasses.replace(folder.db.state(), phase=phase, message=message))


def _due(folder: RunFolder) -> Any:
    """Yield the run, or of a plan the runs, that are between slices."""
    each = children_of(folder) if kind_of(folder.config).plans else (folder,)
    return (run for run in each if _phase(run) == BETWEEN_SLICES and not run.is_alive())


def _affordable(sentence: str, duration: float, seconds: float) -> float | None:
    """Return for how many seconds a slice can train with what is left of the visitor's quota; None: it is not known.

    ZeroGPU counts the seconds of a faster card as more, in what was requested and in what is left.
    """
    left = _LEFT.search(sentence)
    if left is None or int(left[1]) <= 0:
        return None
    return int(left[2]) / int(left[1]) * duration - (duration - seconds) - 1


def _phase(folder: RunFolder) -> str:
    return folder.db.state().phase
