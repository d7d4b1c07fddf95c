"""Keeps one layout process running for the page."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from explorer.layout.environment import environment
from trainers.progress import interval
from trainers.training.executor import APART, end, program_environment

_log = logging.getLogger(__name__)

BEAT_SECONDS = interval(0.2)
RENEW_SECONDS = 5.0  # a watched run is named to the process at most this often
FORGET_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
END_SECONDS = 2.0  # for a process that was told to end
SETTLED_SECONDS = 60.0  # a process that lived this long started successfully


class LayoutSupervisor:
    """Starts the layout process, tells it which runs are viewed, and restarts it when it dies.

    Nothing here blocks the caller: all writing to the process is done by one thread.

    Args:
        root: folder of the runs.
        needed: whether a run trains or waits. The process, which takes most of a gigabyte, starts with the first one
            that does, or is viewed.

    Attributes:
        watched: when each run that is being viewed was last viewed, by id.
    """

    def __init__(self, root: Path, needed: Callable[[], bool] = lambda: True) -> None:
        self._root = root
        self._needed = needed
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self.watched: dict[str, float] = {}
        self._renewed: dict[str, float] = {}

    def start(self) -> None:
        """Start the thread that starts and supervises the process; nothing happens if it was started before."""
        if self._thread is not None:
            return
        self._ending.clear()
        self._thread = threading.Thread(target=self._look_after, name="layout supervisor", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """Id of the layout process; None while it does not run."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def watch(self, run_id: str) -> None:
        """Record that this run is being viewed; to be repeated while it is. Cheap, never blocks, never raises."""
        if len(run_id) <= 64 and run_id.isalnum():  # one word on one line of the pipe
            with self._lock:
                self.watched[run_id] = time.monotonic()

    def stop(self) -> None:
        """End the process and wait for it, a few seconds at most; it is killed if it does not respond."""
        self._ending.set()
        if self._thread is None:
            return
        self._thread.join(timeout=3)
        if self._thread.is_alive() and self._process is not None:
            self._process.kill()  # it hangs with a full pipe, and the thread hangs with it
            self._thread.join(timeout=2)
        self._thread = None

    def _look_after(self) -> None:
        pause = FIRST_PAUSE
        while not (self.watched or self._needed() or self._ending.is_set()):
            self._ending.wait(BEAT_SECONDS)
        while not self._ending.is_set():
            begun = time.monotonic()
            try:
                self._process = self._spawn()
                self._attend(self._process)
            except OSError as error:
                _log.error("the layout process cannot be started: %s", error)
            if self._ending.is_set():
                break
            pause = FIRST_PAUSE if time.monotonic() - begun > SETTLED_SECONDS else pause
            code = None if self._process is None else self._process.returncode
            _log.warning("the layout process ended (%s); it starts again in %.1f s", code, pause)
            self._ending.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        self._end()

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._renewed = {}
        # when this process dies, however it dies, the other one reads the end of this pipe and ends too
        return subprocess.Popen(
            [sys.executable, "-m", "explorer.layout.process", str(self._root.resolve())],
            stdin=subprocess.PIPE,
            bufsize=0,
            env=program_environment() | environment(),
            **APART,
        )

    def _attend(self, process: subprocess.Popen[bytes]) -> None:
        """Pass watched runs on until the process or this supervisor ends."""
        while process.poll() is None and not self._ending.is_set():
            lines = b"".join(f"watch {run_id}\n".encode() for run_id in self._due())
            with contextlib.suppress(OSError):
                if lines and process.stdin is not None:
                    process.stdin.write(lines)
            self._ending.wait(BEAT_SECONDS)
        if process.stdin is not None:
            process.stdin.close()

    def _due(self) -> list[str]:
        """Return watched runs that the process has not been told about lately."""
        now = time.monotonic()
        with self._lock:
            self.watched = {run: seen for run, seen in self.watched.items() if now - seen < FORGET_SECONDS}
            watched = dict(self.watched)
        due = [
            run
            for run, seen in watched.items()
            if run not in self._renewed or seen - self._renewed[run] > RENEW_SECONDS
        ]
        self._renewed = {run: at for run, at in self._renewed.items() if run in watched} | dict.fromkeys(due, now)
        return due

    def _end(self) -> None:
        if self._process is not None:
            end(self._process, END_SECONDS)
