"""Long work in the background: one piece at a time, the others wait; each can be followed and stopped."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Full, Queue
from typing import Any

from explorer.server.http import GoneError
from explorer.server.visitors import NOBODY, Caller
from trainers.errors import DataError, UserError

WAITING = 8
KEPT = 24
CLOSING = 10.0
"""Seconds that closing waits for the thread."""
_log = logging.getLogger(__name__)


class StoppedError(Exception):
    """Somebody stopped the work."""


@dataclass(kw_only=True, eq=False)
class Job:
    """A piece of work and how far it is.

    Attributes:
        order: what is to be done.
        caller: who asked for it.
        phase: waiting, running, done, failed or stopped.
        rows: lines of a table to take home.
    """

    id: str
    order: Any
    caller: Caller = NOBODY
    phase: str = "waiting"
    message: str = "waiting for its turn"
    fraction: float = 0.0
    error: str | None = None
    result: dict[str, Any] | None = None
    rows: list[list[Any]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "phase": self.phase,
            "message": self.message,
            "fraction": round(self.fraction, 3),
            "error": self.error,
            "result": self.result,
        }

    def tell(self, message: str, fraction: float) -> None:
        """Say how far it is.

        Raises:
            StoppedError: somebody stopped it.
        """
        if self.stop.is_set():
            raise StoppedError
        self.message, self.fraction = message, min(1.0, fraction)


class Jobs:
    """A line of jobs and the thread that works on them.

    Args:
        work: does one job and returns its result; may raise user errors.
        each: jobs of one address or login that may wait or be worked on; None: any number.
    """

    def __init__(self, work: Callable[[Job], dict[str, Any]], each: int | None = None) -> None:
        self._does = work
        self._each = each
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: Queue[Job | None] = Queue(maxsize=WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, order: Any, caller: Caller = NOBODY) -> Job:
        """Put an order in line; its id cannot be guessed.

        Raises:
            DataError: too many wait, of all callers or of this one.
        """
        job = Job(id=secrets.token_hex(12), order=order, caller=caller)
        with self._lock:
            self._check_share(caller)
            try:
                self._queue.put_nowait(job)
            except Full:
                raise DataError(f"{WAITING} scores wait already; try again when some of them are done.") from None
            self._jobs[job.id] = job
            self._drop_old()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="scores", daemon=True)
                self._thread.start()
        return job

    def get(self, job_id: str) -> Job:
        """A job.

        Raises:
            GoneError: there is none, or no longer.
        """
        with self._lock:
            found = self._jobs.get(job_id)
        if found is None:
            raise GoneError(f"The score {job_id[:40]!r} is no longer kept here. Start it again.")
        return found

    def stop(self, job_id: str) -> None:
        """Stop a job, or take it out of the line.

        Raises:
            GoneError: there is none, or no longer.
        """
        job = self.get(job_id)
        job.stop.set()
        if job.phase == "waiting":
            job.phase, job.message = "stopped", "stopped"

    def close(self) -> None:
        """Stop everything; the thread ends after the job it is at."""
        with self._lock:
            for job in self._jobs.values():
                job.stop.set()
        with contextlib.suppress(Full):  # stopped jobs are passed over, and the thread is a daemon
            self._queue.put_nowait(None)
        if self._thread is not None:
            self._thread.join(CLOSING)  # a thread inside torch must not outlive the interpreter

    def _check_share(self, caller: Caller) -> None:
        if self._each is None:
            return
        going = [job.caller.marks() for job in self._jobs.values() if job.phase in ("waiting", "running")]
        for mark in caller.marks():
            if sum(mark in marks for marks in going) >= self._each:
                raise DataError(f"{self._each} of your scores wait or are worked on; stop one of them, or wait for it.")

    def _drop_old(self) -> None:
        for key in list(self._jobs):
            if len(self._jobs) <= KEPT:
                return
            if self._jobs[key].phase not in ("waiting", "running"):
                del self._jobs[key]

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                job.tell("starting", 0.0)
                job.phase = "running"
                job.result = self._does(job)
                job.phase, job.message, job.fraction = "done", "", 1.0
            except StoppedError:
                job.phase, job.message = "stopped", "stopped"
            except UserError as error:
                job.phase, job.error = "failed", str(error)
            except Exception as error:
                _log.exception("the score %s failed", job.id)
                job.phase, job.error = "failed", f"The score failed ({type(error).__name__}: {error})."
