"""Starts queued runs when a slot is free. The run folders hold the state; this only indexes it."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from explorer.server import queue
from explorer.server.devices import device_of, processes_of
from explorer.server.left_runs import course_of, goes_on, is_plan
from explorer.server.plans import Plans, RunQueue
from explorer.server.queue import Job, Wait, minutes_left
from explorer.settings import Settings
from trainers.errors import RunError
from trainers.progress import interval
from trainers.runs import RunFolder, list_runs
from trainers.runs.damage import BusyError, reading
from trainers.runs.records import BETWEEN_SLICES, PHASES, RunState
from trainers.training.executor import Device, Ended, ProcessExecutor

_log = logging.getLogger(__name__)
TICK_SECONDS = interval(0.5)
WAITING = "waiting for its turn"
STARTING = "starting the trainer"
STOPPED = "stopped; it can be resumed"


@dataclasses.dataclass(kw_only=True)
class _Training:
    """A run that holds a slot for each of its processes. ``ours``: its trainer is our child; otherwise only its lock
    tells that it lives."""

    folder: RunFolder
    gpus: tuple[str, ...] = ()
    ours: bool
    since: float
    told_to_stop: bool = False


class Scheduler:
    """The queue and the slots. :meth:`tick` does the work; :meth:`begin` calls it every :data:`TICK_SECONDS`."""

    def __init__(self, settings: Settings, executor: ProcessExecutor, devices: tuple[str, ...] = ()) -> None:
        self._settings = settings
        self._executor = executor
        self._devices = devices
        self._slots = settings.max_parallel or max(1, len(devices))
        self._waiting: dict[str, RunFolder] = {}
        self._training: dict[str, _Training] = {}
        self._said: dict[str, str] = {}
        self._plans = Plans(
            RunQueue(add=self.add, waits=self._waiting.__contains__, busy=self.is_busy, stop=self._take_out_or_stop)
        )
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._pick_up()

    def begin(self) -> None:
        """Start the thread that calls :meth:`tick`."""
        self._thread = threading.Thread(target=self._loop, name="scheduler", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and let the trainers save and leave. Waiting runs stay queued on disk."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._plans.close()
        self._executor.close()
        for folder in (*self._waiting.values(), *(entry.folder for entry in self._training.values())):
            folder.db.close()

    def tick(self) -> None:
        """Record the trainers that ended, stop those past their time limit, start the runs whose turn it is."""
        with self._lock:
            self._note_ends()
            for run_id, entry in list(self._training.items()):
                if entry.ours or entry.folder.is_alive():
                    self._guarded(run_id, partial(self._watch_clock, entry))
                else:
                    self._guarded(run_id, partial(self._note_loss, self._training.pop(run_id).folder))
            self._begin_plans()
            self._plans.tick()
            if self._waiting:
                cap = self._settings.limits.running if self._settings.public else None
                self._drop_unreadable()
                waiting, training = self._jobs()
                ready = [job for job in waiting if job.id not in self._training]  # not while its old trainer leaves
                for job in queue.next_up(ready, training, self._slots, cap):
                    self._launch(job.id)

    def add(self, folder: RunFolder) -> None:
        """Put a run at the end of the queue; its state becomes ``queued``, its checkpoint is kept."""
        with self._lock:
            state = folder.db.state()
            queued = dataclasses.replace(state, phase="queued", message=WAITING, error=None)
            folder.db.set_state(queued)
            self._waiting[folder.id] = folder
        self._wake.set()

    def take_out(self, run_id: str) -> bool:
        """Take a run out of the queue, end a trainer that has not begun, or stop a run between two slices; False if a
        trainer is at work."""
        with self._lock:
            folder = self._waiting.pop(run_id, None)
            if folder is None and (rests := self._between_slices(run_id)) is not None:
                self._executor.kill(run_id)
                rests.db.set_state(dataclasses.replace(rests.db.state(), phase="stopped", message=STOPPED))
                rests.db.close()
                return True
            if folder is None:
                entry = self._training.get(run_id)
                if entry is None or not entry.ours or not _before_its_first_word(entry.folder):
                    return False
                self._executor.kill(run_id)
                folder = self._training.pop(run_id).folder
                self._note_ends()  # its own end is no news: it is no longer among those that train
            state = folder.db.state()
            if PHASES[state.phase].begun:  # it ended between the two readings: that stands
                return False
            folder.db.set_state(dataclasses.replace(state, phase="stopped", message="taken out of the queue"))
            return True

    def stop_plan(self, run_id: str) -> bool:
        """Stop a plan and its runs; False if this is no plan that is worked on."""
        with self._lock:
            return self._plans.stop(run_id)

    @property
    def slots(self) -> int:
        """Runs that may train at once."""
        return self._slots

    def wait(self, run_id: str) -> Wait | None:
        """Return the place of a run in the queue; None when it does not wait."""
        with self._lock:
            if run_id not in self._waiting:
                return None
            waiting, training = self._jobs()
            return queue.wait(waiting, training, self._slots, run_id)

    def is_busy(self, run_id: str) -> bool:
        """Return whether a run waits or trains, or is a plan that is worked on."""
        with self._lock:
            known = run_id in self._waiting or run_id in self._training or run_id in self._plans
            return known or self._executor.holds(run_id)

    @property
    def at_work(self) -> bool:
        """Whether any run waits or trains."""
        return bool(self._waiting or self._training)

    def waiting(self, owner: str | None = None) -> int:
        """Count the runs that wait, of one owner or of all."""
        with self._lock:
            return sum(1 for folder in self._waiting.values() if owner is None or folder.owner == owner)

    def _loop(self) -> None:
        while not self._closed:
            try:
                self.tick()
            except Exception:  # whatever it is, the next runs must get their turn
                _log.exception("the queue could not be moved on; trying again")
            self._wake.wait(TICK_SECONDS)
            self._wake.clear()

    def _pick_up(self) -> None:
        """Find what an earlier program left: runs that wait, detached trainers that still live, runs of a cluster."""
        try:
            folders = list_runs(self._settings.runs)
        except RunError as error:
            _log.error("%s", error)
            return
        for folder in folders:
            self.take_in(folder)

    def take_in(self, folder: RunFolder) -> None:
        """Queue a run that waited in an earlier program or that a cluster trains, and go on with a plan; others stay as
        they are.
        """
        with self._lock:
            try:
                course = course_of(folder)
                if course == "collect":
                    self._executor.launch(folder.path, Device())  # in no slot
            except RunError as error:
                _log.warning("passed over: %s", error)
                course = "leave"
            if course == "queue":
                self._waiting[folder.id] = folder
            elif course == "watch":
                self._training[folder.id] = _Training(folder=folder, ours=False, since=time.monotonic())
            else:
                folder.db.close()

    def _begin_plans(self) -> None:
        """Take the plans out of the queue: they need no slot, only their runs do."""
        for run_id, folder in list(self._waiting.items()):
            try:
                if is_plan(folder):
                    del self._waiting[run_id]
                    self._plans.take(folder)
            except BusyError:
                self._waiting[run_id] = folder
            except RunError as error:
                self._waiting.pop(run_id, None)
                self._fail(folder, str(error))

    def _take_out_or_stop(self, folder: RunFolder) -> None:
        if not self.take_out(folder.id):
            folder.send("stop")
        folder.db.close()

    def _between_slices(self, run_id: str) -> RunFolder | None:
        """Return a run that waits for its next slice; None of others."""
        folder = RunFolder(self._settings.runs / run_id)
        if not folder.present:
            return None
        if folder.db.state().phase == BETWEEN_SLICES and not folder.is_alive():
            return folder
        folder.db.close()
        return None

    def _launch(self, run_id: str) -> None:
        folder = self._waiting.pop(run_id)
        try:
            with reading(run_id):
                device = device_of(folder, self._devices, self._held())
                state = folder.db.state()
                folder.db.set_state(dataclasses.replace(state, message=STARTING))
                self._executor.launch(folder.path, device)
        except BusyError:
            self._waiting[run_id] = folder  # at the next tick again
            return
        except RunError as error:
            self._fail(folder, f"Its trainer could not be started: {error}")
            return
        self._training[run_id] = _Training(folder=folder, gpus=device.gpus, ours=True, since=time.monotonic())

    def _note_ends(self) -> None:
        for ended in self._executor.reap():
            self._guarded(ended.id, partial(self._note_end, ended))

    def _note_end(self, ended: Ended) -> None:
        """Record that a trainer ended; if it wrote no reason, its last line of output becomes the run's error."""
        entry = self._training.pop(ended.id, None)
        if entry is None or ended.id in self._waiting:  # resumed while its old trainer was leaving
            return
        if entry.folder.is_alive():  # another program trains it; ours found it taken and left
            self._training[ended.id] = dataclasses.replace(entry, ours=False)
            return
        folder = entry.folder
        phase = folder.db.state().phase
        if ended.code < 0 and goes_on(folder):
            self._waiting[ended.id] = folder  # what followed it was killed, and the cluster trains on
            return
        if not PHASES[phase].begun and (not PHASES[phase].active or ended.code != 0):
            why = ended.last_line or "it printed nothing"
            self._fail(folder, f"Its trainer ended before it started (exit status {ended.code}): {why}")
        folder.db.close()

    def _note_loss(self, folder: RunFolder) -> None:
        """Note that a process of an earlier program is gone; a run of a cluster is followed again."""
        if folder.id not in self._waiting and goes_on(folder):
            self._waiting[folder.id] = folder
        else:
            folder.db.close()

    def _fail(self, folder: RunFolder, sentence: str) -> None:
        """Say in the log, and in the run as far as it can be written, why it is no longer in the queue."""
        _log.warning("run %s left the queue: %s", folder.id, sentence)
        try:
            with reading(folder.id):
                folder.db.set_state(dataclasses.replace(_known(folder), phase="failed", message="", error=sentence))
                folder.log(sentence)
        except RunError as error:
            if str(error) not in sentence:
                _log.warning("%s", error)
        finally:
            folder.db.close()

    def _guarded(self, run_id: str, act: Callable[[], None]) -> None:
        """Do something about one run; if its folder cannot be read or written, the log says so and the rest go on."""
        try:
            with reading(run_id):
                act()
        except RunError as error:
            if self._said.get(run_id) != str(error):  # this is tried at every tick
                _log.warning("%s", error)
            self._said[run_id] = str(error)

    def _drop_unreadable(self) -> None:
        """Take runs out of the queue that can never be started."""
        for run_id, folder in list(self._waiting.items()):
            try:
                _job(folder, self._slots)
                folder.check()
            except BusyError:
                continue
            except RunError as error:
                del self._waiting[run_id]
                self._fail(folder, str(error))

    def _watch_clock(self, entry: _Training) -> None:
        """Stop a run that has held its slot for too long, on a public page."""
        seconds = self._settings.limits.wall_minutes * 60
        if not self._settings.public or entry.told_to_stop or time.monotonic() - entry.since <= seconds:
            return
        try:
            phase = entry.folder.db.state().phase
        except BusyError:
            return
        except RunError:
            if entry.ours:
                self._executor.kill(entry.folder.id)  # it can no longer be asked
            raise
        if phase == "queued":  # a trainer hears only what is sent after its first word
            return
        entry.told_to_stop = True
        entry.folder.log(f"stopped: on this page a run holds its place for {seconds / 60:g} minutes at most")
        entry.folder.send("stop")

    def _held(self) -> list[str]:
        return [gpu for entry in self._training.values() for gpu in entry.gpus]

    def _jobs(self) -> tuple[list[Job], list[Job]]:
        """Return the runs that wait and can be read now, and those that train, which hold their slots in any case."""
        waiting, training = [], []
        for folder in self._waiting.values():
            with contextlib.suppress(RunError):
                waiting.append(_job(folder, self._slots))
        for entry in self._training.values():
            try:
                training.append(_job(entry.folder, self._slots))
            except RunError:
                training.append(Job(id=entry.folder.id, owner=entry.folder.owner))
        return waiting, training


def _job(folder: RunFolder, slots: int) -> Job:
    with reading(folder.id):
        state = folder.db.state()
        minutes, taken = minutes_left(folder.config.single, state), min(processes_of(folder), slots)
        return Job(id=folder.id, owner=folder.owner, since=state.updated, minutes=minutes, slots=taken)


def _before_its_first_word(folder: RunFolder) -> bool:
    """Return whether its trainer has begun nothing yet. One that is about to be gone holds no lock either."""
    return not folder.is_alive() and not PHASES[folder.db.state().phase].begun


def _known(folder: RunFolder) -> RunState:
    """Return the state, or an empty one where it cannot be read."""
    try:
        return folder.db.state()
    except RunError:
        return RunState(phase="failed")
