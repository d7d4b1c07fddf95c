"""Comparisons of the Hub are opened and runs pushed by jobs, which the addresses below ``hub/`` follow and stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.hub.opened import OpenedComparisons
from explorer.server.body import REQUIRED, Body, Flag, Text, whole
from explorer.server.http import json_reply
from explorer.server.library import Library
from explorer.server.login import hub_token
from explorer.server.routes import posts, reads
from explorer.server.tasks import Task, Tasks
from explorer.server.visitors import LOGIN, Caller, caller, scope_of
from explorer.settings import Settings
from trainers.config import MAX_ARMS
from trainers.progress import Progress
from trainers.publishing.upload import PushTarget, push

MOST = 16
"""Jobs that wait or run."""
TOGETHER = 4
"""Jobs that run at once: they wait for the network for most of their time."""


class PushBody(Body):
    """``hub/push``.

    Attributes:
        run: by id.
        to: ``owner/name``.
        private: whether the repository is made as a private one.
        arm: of the run, from 0; of a comparison it counts for nothing.
    """

    run: Text = REQUIRED
    to: Text = REQUIRED
    private: Flag = False
    arm: Annotated[int, whole(0, MAX_ARMS - 1)] = 0


class HubJobs:
    """Opens comparisons and pushes runs.

    Args:
        library: reads the runs that are pushed.
    """

    def __init__(self, settings: Settings, library: Library) -> None:
        self._settings = settings
        self._library = library
        self._opened = OpenedComparisons(settings.opened)
        each = settings.limits.openings if settings.public else None
        self.jobs = Tasks(noun="requests to the Hub", most=MOST, each=each, together=TOGETHER, threads=TOGETHER)

    def about(self, request: Request) -> dict[str, Any]:
        """Return whether this visitor can push, in whose name, and what to do otherwise."""
        login = scope_of(request).get(LOGIN)
        name = login.name if login is not None else None
        if self._settings.public or name:
            todo = "Sign in with Hugging Face, in the sidebar." if self._settings.login else "Nobody can sign in here."
            return {"can": bool(hub_token(request)), "name": name, "todo": todo}
        from huggingface_hub import get_token

        return {"can": bool(get_token()), "name": None, "todo": "Run `hf auth login` on this machine, or set HF_TOKEN."}

    def open(self, name: str, caller: Caller) -> str:
        """Open a comparison, ``owner/name`` or ``owner/name@revision``, in the background; returns the id of the job,
        whose result is the ``id`` of its plan.
        """
        return self._begin(caller, lambda tell: {"id": self._opened.open(name, tell)})

    def push(self, request: Request, body: bytes) -> Response:
        """Push a run in the background, with the visitor's own token; the result of the job is the address."""
        asked = PushBody.parse(body)
        folder = self._library.get(asked.run).folder
        target = PushTarget(name=asked.to, private=asked.private, token=hub_token(request) or None)
        work = lambda tell: {"url": push(folder, target, tell, arm=asked.arm).url}  # noqa: E731
        return json_reply({"job": self._begin(caller(request), work)})

    def close(self) -> None:
        """Stop all jobs."""
        self.jobs.close()

    def _begin(self, caller: Caller, work: Callable[[Progress], Any]) -> str:
        return self.jobs.add(Task(caller=caller, work=work)).id


def hub_routes(service: HubJobs) -> list[Route]:
    """Return the routes."""
    shown = {"about": lambda request: json_reply(service.about(request)), "job/{job}": service.jobs.followed}
    works = {"push": service.push, "job/{job}/stop": service.jobs.stopped}
    return [*reads(shown, "/hub/", 400), *posts(works, "/hub/")]
