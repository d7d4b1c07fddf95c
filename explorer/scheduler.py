"""Moves runs from the waiting line to the trainers; what is on disk is the truth, this is only its index."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path
from typing import Protocol

from explorer import queue
from explorer.executor import Ended
from explorer.queue import Job, Place
from explorer.settings import Settings
from trainers.errors import RunError
from trainers.store import RunFolder, list_runs
from trainers.types import ACTIVE, RunState

WAITING = "waiting for its turn"
STARTING = "its trainer is starting"


class Executor(Protocol):
    """What the scheduler needs from whatever runs the trainers: processes here, slices of a shared GPU elsewhere."""

    def launch(self, folder: Path, environment: dict[str, str]) -> None: ...
    def reap(self) -> list[Ended]: ...
    def kill(self, run_id: str) -> None: ...
    def close(self) -> None: ...


@dataclasses.dataclass(kw_only=True)
class _Training:
    """A run that holds a slot. ``ours``: its trainer is our child; otherwise only its lock tells that it lives."""

    folder: RunFolder
    device: str | None
    ours: bool
    since: float
    told_to_stop: bool = False


class Scheduler:
    """The waiting line and the slots. :meth:`tick` does the work; :meth:`begin` calls it twice a second."""

    def __init__(self, settings: Settings, executor: Executor, devices: tuple[str, ...] = ()) -> None:
        self._settings = settings
        self._executor = executor
        self._devices = devices
        self._slots = settings.max_parallel or max(1, len(devices))
        self._waiting: dict[str, RunFolder] = {}
        self._training: dict[str, _Training] = {}
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._pick_up()

    # ------------------------------------------------------------------- life

    def begin(self) -> None:
        """Start the thread that keeps the line moving."""
        self._thread = threading.Thread(target=self._loop, name="scheduler", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and let the trainers save and leave. Waiting runs stay queued on disk."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._executor.close()
        for folder in (*self._waiting.values(), *(entry.folder for entry in self._training.values())):
            folder.db.close()

    def tick(self) -> None:
        """Take note of the trainers that ended, stop those past their time, start those whose turn it is."""
        with self._lock:
            for ended in self._executor.reap():
                self._note_end(ended)
            for run_id, entry in list(self._training.items()):
                if entry.ours or entry.folder.is_alive():
                    self._watch_clock(entry)
                else:
                    self._training.pop(run_id).folder.db.close()
            if self._waiting:
                cap = self._settings.limits.running if self._settings.public else None
                waiting, training = self._jobs()
                ready = [job for job in waiting if job.id not in self._training]  # not while its old trainer leaves
                for job in queue.next_up(ready, training, self._slots, cap):
                    self._launch(job.id)

    # ------------------------------------------------------------------- line

    def add(self, folder: RunFolder) -> None:
        """Put a run at the end of the line; its state becomes ``queued``, what it has learnt is kept."""
        with self._lock:
            state = folder.db.state()
            queued = dataclasses.replace(state, phase="queued", message=WAITING, error=None)
            folder.db.set_state(queued)
            self._waiting[folder.id] = folder
        self._wake.set()

    def take_out(self, run_id: str) -> bool:
        """Take a run out of the line, or end a trainer that has not begun; False if it is beyond that."""
        with self._lock:
            folder = self._waiting.pop(run_id, None)
            if folder is None:
                entry = self._training.get(run_id)
                if entry is None or not entry.ours or entry.folder.is_alive():
                    return False
                self._executor.kill(run_id)
                folder = self._training.pop(run_id).folder
                self._executor.reap()
            state = folder.db.state()
            folder.db.set_state(dataclasses.replace(state, phase="stopped", message="taken out of the line"))
            return True

    def place(self, run_id: str) -> Place | None:
        """Where a run waits; None when it does not."""
        with self._lock:
            if run_id not in self._waiting:
                return None
            waiting, training = self._jobs()
            return queue.place(waiting, training, self._slots, run_id)

    def is_busy(self, run_id: str) -> bool:
        """Whether a run waits or trains."""
        with self._lock:
            return run_id in self._waiting or run_id in self._training

    def waiting(self, owner: str | None = None) -> int:
        """Number of runs that wait, of one owner or of all."""
        with self._lock:
            return sum(1 for folder in self._waiting.values() if owner is None or folder.owner == owner)

    # ---------------------------------------------------------------- details

    def _loop(self) -> None:
        while not self._closed:
            try:
                self.tick()
            except (RunError, OSError) as error:  # one damaged folder must not stop the line
                print(f"scheduler: {error}", flush=True)
            self._wake.wait(0.5)
            self._wake.clear()

    def _pick_up(self) -> None:
        """Find what an earlier program left: runs that wait, and detached trainers that still live."""
        for folder in list_runs(self._settings.runs):
            try:
                phase = folder.db.state().phase
            except RunError:
                continue
            if phase == "queued":
                self._waiting[folder.id] = folder
            elif phase in ACTIVE and folder.is_alive():
                self._training[folder.id] = _Training(folder=folder, device=None, ours=False, since=time.monotonic())
            else:
                folder.db.close()

    def _launch(self, run_id: str) -> None:
        folder = self._waiting.pop(run_id)
        try:
            device = self._free_device() if folder.config.device == "auto" else None
            state = folder.db.state()
            folder.db.set_state(dataclasses.replace(state, message=STARTING))
            self._executor.launch(folder.path, {} if device is None else {"CUDA_VISIBLE_DEVICES": device})
        except (RunError, OSError) as error:
            self._fail(folder, f"Its trainer could not be started: {error}")
            return
        self._training[run_id] = _Training(folder=folder, device=device, ours=True, since=time.monotonic())

    def _note_end(self, ended: Ended) -> None:
        """A trainer that died before it could say why leaves its last words as the error."""
        entry = self._training.pop(ended.id, None)
        if entry is None or ended.id in self._waiting:  # resumed while its old trainer was leaving
            return
        if entry.folder.is_alive():  # another program trains it; ours found it taken and left
            self._training[ended.id] = dataclasses.replace(entry, ours=False)
            return
        folder = entry.folder
        try:
            phase = folder.db.state().phase
        except RunError:  # its folder was deleted under it
            return
        if phase == "queued" or (phase == "starting" and ended.code != 0):
            why = ended.last_line or "it printed nothing"
            self._fail(folder, f"Its trainer ended before it began (exit status {ended.code}): {why}")
        folder.db.close()

    def _fail(self, folder: RunFolder, sentence: str) -> None:
        state: RunState = folder.db.state()
        folder.db.set_state(dataclasses.replace(state, phase="failed", message="", error=sentence))
        folder.log(sentence)

    def _watch_clock(self, entry: _Training) -> None:
        """On a public page, stop a run that has held its slot for too long."""
        seconds = self._settings.limits.wall_minutes * 60
        if not self._settings.public or entry.told_to_stop or time.monotonic() - entry.since <= seconds:
            return
        if entry.folder.db.state().phase == "queued":  # a trainer hears only what is sent after its first word
            return
        entry.told_to_stop = True
        entry.folder.log(f"stopped: on this page a run holds its place for {seconds / 60:g} minutes at most")
        entry.folder.send("stop")

    def _free_device(self) -> str | None:
        """The GPU with the fewest runs."""
        if not self._devices:
            return None
        held = [entry.device for entry in self._training.values()]
        return min(self._devices, key=held.count)

    def _jobs(self) -> tuple[list[Job], list[Job]]:
        waiting = [_job(folder) for folder in self._waiting.values()]
        training = [_job(entry.folder) for entry in self._training.values()]
        return waiting, training


def _job(folder: RunFolder) -> Job:
    state = folder.db.state()
    return Job(id=folder.id, owner=folder.owner, since=state.updated, minutes=minutes_left(folder, state))


def minutes_left(folder: RunFolder, state: RunState) -> float | None:
    """Training that a run still wants, in minutes; None if it counts in steps and none is done yet."""
    config = folder.config
    by_time = None if config.minutes is None else max(0.0, config.minutes - state.seconds / 60)
    steps = config.steps if config.epochs is None else state.planned_steps  # a trainer knows how long its epochs are
    if steps is None or state.step == 0:
        return by_time
    by_steps = max(0, steps - state.step) * state.seconds / state.step / 60
    return by_steps if by_time is None else min(by_time, by_steps)
