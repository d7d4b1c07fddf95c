"""Functions in the background: each is a job, answered at once if it is done soon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from explorer.server.jobs import Job, Jobs
from explorer.server.visitors import Caller
from trainers.errors import UserError
from trainers.progress import Progress

GRACE = 0.4
"""Seconds that a request waits for its job, since much is done sooner."""


@dataclass(kw_only=True, eq=False)
class Task(Job):
    """A job that is a function; it is let go of when it begins or is stopped, since it may hold a visitor's token.

    Attributes:
        work: is told a progress function that raises to stop.
    """

    work: Callable[[Progress], Any] | None


class Tasks(Jobs[Task]):
    """Runs functions in the order in which they were added; takes what :class:`Jobs` takes but ``work``."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(_call, **limits)

    def reply(self, work: Callable[[Progress], Any], caller: Caller) -> dict[str, Any]:
        """Begin work: ``{"answer": ...}`` if it is done soon, else ``{"job": id}``, whose result the answer will be.

        Raises:
            UserError: too many wait, or it failed already.
        """
        job = self.add(Task(work=work, caller=caller))
        return {"answer": job.wait()} if job.done.wait(GRACE) else {"job": job.id}

    def answer(self, reply: dict[str, Any], instead: str) -> Any:
        """Wait for the answer that a reply is or will be, and return it; see :meth:`waited`."""
        return reply["answer"] if "answer" in reply else self.waited(self.get(reply["job"]), instead)

    def _end(self, job: Task, phase: str, error: UserError | None = None) -> None:
        job.work = None
        super()._end(job, phase, error)


def _call(job: Task) -> Any:
    work, job.work = job.work, None
    assert work is not None
    return work(job.tell)
