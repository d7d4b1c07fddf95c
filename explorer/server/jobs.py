"""Work in the background: a queue of jobs, each of which can be followed and stopped."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from explorer.server.http import GoneError, RequestError, json_reply
from explorer.server.visitors import NOBODY, Caller
from trainers.errors import DataError, UserError

KEPT = 24
CLOSING = 10.0
"""Seconds that closing waits for what is running."""
LONGEST = 600.0
"""Seconds that a call of a program waits for its job."""
_GOING = ("waiting", "running")
_log = logging.getLogger(__name__)


class StoppedError(Exception):
    """Somebody stopped the work."""


@dataclass(kw_only=True, eq=False)
class Job:
    """A piece of work and its progress.

    Attributes:
        id: cannot be guessed.
        caller: who asked for it.
        phase: waiting, running, done, failed or stopped.
        error: why it ended without a result.
        stop: set to stop it; done: set at the end, however it ends.
        steps: what is left of a job that works step by step.
    """

    id: str = field(default_factory=lambda: secrets.token_hex(12))
    caller: Caller = NOBODY
    phase: str = "waiting"
    message: str = "waiting for its turn"
    fraction: float = 0.0
    result: Any = None
    error: UserError | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    steps: Iterator[None] | None = None

    def json(self) -> dict[str, Any]:
        """Return it as plain values."""
        error = str(self.error) if self.phase == "failed" else None
        values = {"phase": self.phase, "message": self.message, "fraction": round(self.fraction, 3)}
        return {**values, "error": error, "result": self.result}

    def tell(self, message: str, fraction: float) -> None:
        """Report progress.

        Raises:
            StoppedError: somebody stopped it.
        """
        if self.stop.is_set():
            raise StoppedError
        self.message, self.fraction = message, min(1.0, fraction)

    def wait(self) -> Any:
        """Wait for the result and return it.

        Raises:
            UserError: it failed or was stopped.
        """
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.result


J = TypeVar("J", bound=Job)


class Jobs(Generic[J]):
    """Runs jobs in the order in which they were added.

    Args:
        work: does a job and returns its result, or yields after each step and returns the result at the end; may raise
            user errors.
        noun: what the jobs are, in the plural, for messages.
        most: jobs that may wait or run.
        each: the same of one address or login; None: no limit of its own.
        together: jobs that run at the same time: they take turns, one step each; None: all of them.
        threads: steps of a turn that run in parallel.
        kept: finished jobs that are kept.
    """

    def __init__(
        self,
        work: Callable[[J], Any],
        *,
        noun: str,
        most: int,
        each: int | None = None,
        together: int | None = 1,
        threads: int = 1,
        kept: int = KEPT,
    ) -> None:
        self._work = work
        self._noun = noun
        self._most = most
        self._each = each
        self._together = together
        self._kept = kept
        self._jobs: OrderedDict[str, J] = OrderedDict()
        self._lock = threading.RLock()
        self._turns = ThreadPoolExecutor(1, thread_name_prefix=f"{noun} turns")
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=noun)
        self._turn: Future[None] | None = None
        self._closed = False

    def add(self, job: J) -> J:
        """Add a job to the queue.

        Raises:
            DataError: too many wait, of all callers or of this one, or one of this id is there.
        """
        with self._lock:
            self._check(job)
            self._jobs[job.id] = job
            self._drop_old()
            if self._turn is None or self._turn.done():
                self._turn = self._turns.submit(self._take_turns)
        return job

    def find(self, job_id: str) -> J | None:
        """Return a job; None if there is none, or no longer."""
        with self._lock:
            return self._jobs.get(job_id)

    def get(self, job_id: str) -> J:
        """Return a job.

        Raises:
            GoneError: there is none, or no longer.
        """
        job = self.find(job_id)
        if job is None:
            raise GoneError(f"Job {job_id[:40]!r} of the {self._noun} is no longer kept here. Start it again.")
        return job

    def waited(self, job: J, instead: str) -> Any:
        """Wait for the result of a job and return it.

        Args:
            instead: what can be chosen so that it takes less time.

        Raises:
            UserError: it failed, was stopped, or took too long and is stopped.
        """
        if not job.done.wait(LONGEST):
            self.stop(job)
            raise RequestError(f"It is not done after {LONGEST:.0f} s. Choose {instead}.")
        return job.wait()

    def followed(self, request: Request) -> Response:
        """Answer with the job that the address names."""
        return json_reply(self.get(request.path_params["job"]).json())

    def stopped(self, request: Request, _body: bytes) -> Response:
        """Stop the job that the address names."""
        self.stop(self.get(request.path_params["job"]))
        return json_reply({})

    def going(self) -> list[J]:
        """List the jobs that wait or run."""
        with self._lock:
            return [job for job in self._jobs.values() if job.phase in _GOING]

    def stop(self, job: J) -> None:
        """Stop a job, or take it out of the queue."""
        job.stop.set()
        with self._lock:
            if job.phase == "waiting":
                self._end(job, "stopped", DataError("It was stopped before it began."))

    def close(self) -> None:
        """Stop all jobs and wait a while for those that are running."""
        self._closed = True
        for job in self.going():
            self.stop(job)
        if self._turn is not None:
            wait([self._turn], CLOSING)  # a thread inside torch must not outlive the interpreter
        for pool in (self._turns, self._pool):
            pool.shutdown(wait=False, cancel_futures=True)

    def _check(self, job: J) -> None:
        going = self.going()
        if self._closed or job.id in self._jobs or len(going) >= self._most:
            raise DataError(f"Too many {self._noun} wait already; try again when some of them are done.")
        if self._each is None:
            return
        for identity in job.caller.identities():
            if sum(identity in job.caller.identities() for job in going) >= self._each:
                said = f"{self._each} of your {self._noun} wait or are worked on already; stop one of them, or wait."
                raise DataError(said)

    def _drop_old(self) -> None:
        ended = [key for key, job in self._jobs.items() if job.phase not in _GOING]
        for key in ended[: max(0, len(ended) - self._kept)]:
            del self._jobs[key]

    def _take_turns(self) -> None:
        while True:
            with self._lock:
                going = self.going()[: self._together]
                for job in going:
                    job.phase = "running"
                if not going:
                    self._turn = None
                    return
            list(self._pool.map(self._step, going))

    def _step(self, job: J) -> None:
        try:
            job.tell(job.message, job.fraction)  # raises if it was stopped
            if job.steps is None:
                made = self._work(job)
                if not isinstance(made, Iterator):
                    raise StopIteration(made)
                job.steps = made
            next(job.steps)
        except StopIteration as end:
            job.result, job.message, job.fraction = end.value, "", 1.0
            self._end(job, "done")
        except StoppedError:
            self._end(job, "stopped", DataError("It was stopped before it was done."))
        except UserError as error:
            self._end(job, "failed", error)
        except Exception as error:
            _log.exception("a job of the %s failed", self._noun)
            self._end(job, "failed", DataError(f"This could not be done ({type(error).__name__}: {error})."))

    def _end(self, job: J, phase: str, error: UserError | None = None) -> None:
        with self._lock:
            job.phase, job.error, job.steps = phase, error, None
            if phase == "stopped":
                job.message = "stopped"
            self._drop_old()
            job.done.set()
