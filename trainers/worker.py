"""The trainer process: ``python -m trainers.worker <run folder>``; with ``--prepare`` it sets the run up and trains
nothing, for runs that go on in slices.

It communicates through the run folder alone. When its standard input is a pipe, the end of that pipe means that its
parent is gone: it writes a checkpoint and ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trainers.training import parent_watch

GRACE_SECONDS = 1.4  # from the end of the pipe to the end of the process, whatever it is doing: under two seconds
if __name__ == "__main__":
    parent_watch.hold(GRACE_SECONDS)  # before the imports below: they load torch, which takes seconds

# ruff: noqa: E402
from trainers import plugins
from trainers.cluster.holding import has_record
from trainers.devices.device import memory_ran_out
from trainers.distributed.follower import Word, announce, follow, invite, watch
from trainers.distributed.group import Notices, board, highest, join, lost_another
from trainers.errors import UNEXPECTED, DiskFullError, RunError, UserError
from trainers.kinds import check, kind_of
from trainers.progress import interval, with_share
from trainers.registry import importing
from trainers.runs import RunFolder
from trainers.runs.atomic_files import is_full
from trainers.runs.database import clear_remains
from trainers.runs.lock import RunLock
from trainers.runs.records import BETWEEN_SLICES, RunState
from trainers.runs.slice_cost import note_set_up
from trainers.trackers.mirror import mirrored
from trainers.training.interrupts import answer

if TYPE_CHECKING:
    from trainers.training.trainer import Trainer

LISTEN_SECONDS = interval(0.2)  # between readings of the control table
STATE_SECONDS = interval(0.5)
PAUSE_SECONDS = interval(0.05)  # between these readings while the run is paused
PREPARE = "--prepare"
ENDINGS = {"finished": "finished", BETWEEN_SLICES: "waiting for its next slice"}

OTHER_ENDED = "Another process of this run ended. Nothing before the last checkpoint is lost: resume it."

Watcher = Callable[[RunState], None]


class StopTraining(Exception):  # noqa: N818  (not an error: somebody asked)
    """Raised during set-up when the run is to stop; ``phase`` is the phase to end in."""

    def __init__(self, phase: str) -> None:
        super().__init__(phase)
        self.phase = phase


class Worker:
    """Trains one run to its end, obeying pause, resume and stop.

    Args:
        folder: the run.
        watcher: called with every state written (the command line's progress bar).
    """

    def __init__(self, folder: RunFolder, watcher: Watcher | None = None) -> None:
        self.folder = folder
        self._watcher = watcher or (lambda _state: None)
        self._state = RunState(phase="starting")
        self._written = 0.0
        self._leave: str | None = None  # the phase to end in, once somebody asked
        self._paused = False
        self._seconds: float | None = None  # of this slice; None: until the run ends
        self._ready: Callable[[float], None] = lambda _seconds: None
        self._end_at = math.inf  # monotonic seconds at which this slice has to write its checkpoint
        self._heard = self._last_command()
        self._board = board()
        self._lock = RunLock(folder.path)

    def run(self, seconds: float | None = None, ready: Callable[[float], None] | None = None) -> RunState:
        """Train until the end, a stop or a failure; returns the final state.

        Args:
            seconds: at most this long from the first step on, the last checkpoint included; the run then ends in the
                phase ``between slices``. 0: set up, and write a checkpoint. A pause ends in the phase ``stopped``.
                Scoring the whole test set begins again in every slice, so it has to fit into one.
            ready: called when everything is set up, with the seconds that this took.

        Raises:
            RunError: another process trains this run, or it is gone.
        """
        self._seconds, self._ready = seconds, ready or self._ready
        if not self._lock.acquire():
            raise RunError(f"Run {self.folder.id} is being trained by another process; stop it there first.")
        try:
            self._run()
        except Exception:
            if not self._lock.lost():
                raise
            self._gone()
        finally:
            self.folder.db.close()
            self._lock.release()
            if self._board is not None:
                self._board.leave()
        return self._state

    def leave(self, phase: str) -> None:
        """Ask for a checkpoint and an end in ``phase``; safe from other threads and signal handlers."""
        self._leave = self._leave or phase

    # ---------------------------------------------------------------- private

    def _run(self) -> None:
        state = self.folder.db.state()
        if state.phase == "finished":  # there is nothing to resume
            self._state = state
            return
        try:
            self.folder.take_over()
            self._tell(phase="starting", message="reading the images", error=None, force=True)
            self._train()
        except StopTraining as stop:
            self._end(stop.phase)
        except Exception as error:
            if self._lock.lost():
                raise
            if isinstance(error, UserError):
                self._fail(str(error))
                return
            if self._board is not None and lost_another(error):
                self._others_end(self._board)
                return
            short = str(DiskFullError()) if is_full(error) else memory_ran_out(error)
            self._fail(short or f"{UNEXPECTED}{type(error).__name__}: {error}. The log has the details.", trace=True)

    def _gone(self) -> None:
        """End without writing to the folder, which was deleted or moved, and leave nothing where it was."""
        error = f"The run {self.folder.id} was deleted or moved while it trained, so its training has ended."
        self._state = dataclasses.replace(self._state, phase="failed", message="", error=error)
        self.folder.db.close()
        clear_remains(self.folder.path)

    def _train(self) -> None:
        config = self.folder.config
        plugins.check(self.folder.plugins)
        check(config)
        kind_of(config).check_processes(1 if self._board is None else self._board.launch.world)
        started = time.monotonic()
        with importing():
            loop = kind_of(config).loop()
        trainer = self._set_up(loop)
        cost = self._time_checkpoint(trainer) if self._seconds is not None else 0.0
        self._ready(time.monotonic() - started)
        with mirrored(self.folder):
            self._advance(trainer, cost)

    def _advance(self, trainer: Trainer, cost: float) -> None:
        """Train to the end, a stop, or the end of this slice, whose last checkpoint takes ``cost`` seconds."""
        if self._seconds is not None:
            self._end_at = time.monotonic() + self._seconds - cost
        more = True
        while more:
            try:
                self._obey(together=True)
            except StopTraining:
                trainer.checkpoint()
                self._show(trainer, force=True)
                raise
            more = trainer.advance(min(LISTEN_SECONDS, self._end_at - time.monotonic()))
            self._show(trainer)
        self._tell(message=trainer.ending, force=True)
        trainer.finish(self._scoring)
        self._show(trainer, force=True)
        self._end("finished", trainer.how_far if kind_of(self.folder.config).plans else "")

    def _set_up(self, loop: Callable[..., Trainer]) -> Trainer:
        """Build the loop, with those of the other processes."""
        if self._board is None:
            return loop(self.folder, self._setting_up)
        invite(self.folder, self._board)
        trainer = loop(self.folder, self._setting_up)
        announce(self.folder, self._board)
        self.folder.log(f"processes: {self._board.launch.world} train this run together")
        self._tell(message="waiting for the other processes", force=True)
        self._board.ready()
        return trainer

    def _others_end(self, group: Notices) -> None:
        """End as another process did, whose error is the run's; one that was killed told none."""
        why = None
        with contextlib.suppress(RuntimeError):  # the launcher may have ended with it
            why = group.failure
        if why:
            self._fail(why)
            return
        self.folder.log(OTHER_ENDED)
        self._end("interrupted")

    def _time_checkpoint(self, trainer: Trainer) -> float:
        """Write a checkpoint before the first step; returns the seconds that it took, as the last one will."""
        started = time.monotonic()
        trainer.checkpoint()
        return time.monotonic() - started

    def _setting_up(self, text: str, fraction: float) -> None:
        self._listen()
        if self._leave:
            raise StopTraining(self._leave)
        self._tell(message=with_share(text, fraction))

    def _scoring(self, text: str, _fraction: float) -> None:
        """Report the scoring of the whole test set. The checkpoint is written: stopping here loses no training."""
        self._obey()
        self._tell(phase="running", message=text, force=self._state.phase != "running")

    def _obey(self, together: bool = False) -> None:
        """Read the commands; wait while the run is paused, and raise StopTraining if it is to end.

        Args:
            together: the other processes listen, and one of them may be asked to leave.
        """
        self._listen()
        if self._paused and self._seconds is not None:
            self.leave("stopped")  # a slice that waits would hold its device for nothing
        if time.monotonic() >= self._end_at:
            self.leave(BETWEEN_SLICES)
        while self._paused and not self._leave:
            self._tell(phase="paused", message="paused", force=self._state.phase != "paused")
            time.sleep(PAUSE_SECONDS)
            self._listen()
            if together and highest(Word.WAIT) == Word.LEAVE:  # lest the others wait in vain
                self.leave("interrupted")
        if together and highest(Word.LEAVE if self._leave else Word.TRAIN) == Word.LEAVE:
            self.leave("interrupted")
        if self._leave:
            raise StopTraining(self._leave)

    def _listen(self) -> None:
        if self._lock.lost():
            raise RunError(f"The run {self.folder.id} was deleted or moved.")
        for number, command in self.folder.commands(self._heard):
            self._heard = number
            if command == "stop":
                self.leave("stopped")
            self._paused = command == "pause"
            self.folder.log(f"command: {command}")

    def _last_command(self) -> int:
        """Return the id of the newest command, so that commands for an earlier trainer of this run are skipped."""
        return max((number for number, _ in self.folder.commands(0)), default=0)

    def _show(self, trainer: Trainer, force: bool = False) -> None:
        self._tell(
            phase="running",
            message=trainer.how_far,
            step=trainer.step,
            seconds=trainer.seconds,
            planned_steps=trainer.planned_steps,
            force=force or self._state.phase != "running",
        )

    def _tell(self, *, force: bool = False, **changes: object) -> None:
        self._state = dataclasses.replace(self._state, **changes)  # type: ignore[arg-type]
        if force or time.monotonic() - self._written > STATE_SECONDS:
            self.folder.db.set_state(self._state)
            self._written = time.monotonic()
            self._watcher(self._state)

    def _end(self, phase: str, message: str = "") -> None:
        message = message or ENDINGS.get(phase, f"{phase}; it can be resumed")
        self._tell(phase=phase, message=message, force=True)
        self.folder.log(f"{phase} at step {self._state.step}")

    def _fail(self, error: str, trace: bool = False) -> None:
        details = f"\n{traceback.format_exc()}" if trace else ""
        self.folder.drop_ballast()
        try:
            good = self.folder.read_checkpoint()
            kept = f" The last good checkpoint is of step {good[1]['step']}." if good else ""
            self.folder.log(f"failed: {error}" + details)
            self._tell(phase="failed", message="failed", error=error + kept, force=True)
        except (OSError, sqlite3.Error, UserError) as second:
            # nothing can be written: keep the sentence where a parent process can find it
            self._state = dataclasses.replace(self._state, phase="failed", error=error)
            print(f"{error} (and the run folder cannot be written: {second})", file=sys.stderr)


def watch_parent(worker: Worker) -> None:
    """Ask the worker for a checkpoint when standard input ends, if that is a pipe.

    If a long step or evaluation is under way, :mod:`trainers.training.parent_watch` kills the process all the same; the
    last checkpoint stands.
    A raw read, not ``sys.stdin``: a buffered reader blocked in a daemon thread aborts the interpreter at exit.
    """
    if not parent_watch.has_pipe():
        return

    def wait() -> None:
        while os.read(0, 64):
            pass
        worker.leave("interrupted")

    threading.Thread(target=wait, daemon=True).start()


def watch_signals(worker: Worker) -> None:
    """End with a checkpoint on Ctrl-C and SIGTERM, and when the launcher of several processes is gone."""
    answer(lambda: worker.leave("interrupted"))
    if (group := board()) is not None:
        watch(group, lambda: worker.leave("interrupted"))


def beside(group: Notices) -> int:
    """Train in a process that is not the first of several; returns the exit status."""
    return follow(group, lambda config: kind_of(config).loop())


def main(argv: list[str]) -> int:
    """Run one folder; exit status 0 unless it failed."""
    paths = [word for word in argv if word != PREPARE]
    if len(paths) != 1:
        print(f"usage: python -m trainers.worker [{PREPARE}] RUN_FOLDER", file=sys.stderr)
        return 2
    path = Path(paths[0]).resolve()
    plugins.begin()
    try:
        group = join()
        if group is not None and group.launch.rank:
            return beside(group)
        folder = RunFolder.open(path.parent, path.name)
        if has_record(folder):
            from trainers.cluster import holding, proxy

            if holding.joined(folder):
                return proxy.main([str(path)])
        worker = Worker(folder)
        watch_parent(worker)
        watch_signals(worker)
        state = worker.run() if PREPARE not in argv else worker.run(0, functools.partial(note_set_up, path))
        if state.error and not path.is_dir():
            print(state.error, file=sys.stderr)  # nobody can read it in the run
        return int(state.phase == "failed")
    except UserError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    parent_watch.leave(main(sys.argv[1:]))
