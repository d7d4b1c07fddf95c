"""What trains or waits of a visitor's, for the strip that every tab shows, and the actions on it."""

from __future__ import annotations

import threading
import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.server.body import REQUIRED, Body, Text
from explorer.server.http import RequestError, json_reply
from explorer.server.library import Library
from explorer.server.routes import posts, reads, token_of
from explorer.server.run import Run
from explorer.server.runs import Runs
from explorer.server.states import Json, position, state_json
from explorer.server.titles import run_title
from explorer.server.visitors import Caller, caller
from trainers.cells import finite_number
from trainers.errors import RunError, UserError
from trainers.kinds import kind_of
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.runs.database import Stamp, written
from trainers.runs.records import PHASES

SHOWN = 3
"""Runs that the strip has room for."""
ACTS = ("pause", "resume", "stop")
_AGE = 1.0  # seconds that one look at the runs serves all visitors
_LEFT = "interrupted"
"""Phase of a run whose trainer was lost: its owner is offered to resume it."""


class _Act(Body):
    id: Text = REQUIRED
    action: Text = REQUIRED


class Training:
    """The runs that train, wait or were interrupted; one look at the folders serves all who ask within a second."""

    def __init__(self, library: Library, runs: Runs) -> None:
        self._library = library
        self._runs = runs
        self._lock = threading.Lock()
        self._seen: list[tuple[RunFolder, Json]] = []
        self._rests: dict[str, Stamp] = {}  # what is no longer under way, as it was written last
        self._looked = float("-inf")

    def of(self, viewed: str, token: str, caller: Caller) -> Json:
        """List what a visitor has under way.

        Args:
            viewed: id of the run on screen, which is listed too where its visitor can do something with it.

        Returns:
            ``runs``, those that move, oldest first, then the newest interrupted one, at most :data:`SHOWN`, the
            one on screen before others; and ``more``, how many others there are.
        """
        mine = [about for folder, about in self._look() if self._runs.is_of(folder, token, caller)]
        moving = [about for about in reversed(mine) if about["moving"]]
        left = [about for about in mine if not about["moving"]][:1]
        if all(about["id"] != viewed for about in (*moving, *left)):
            left = [*self._on_screen(viewed, token, caller), *left]
        every = [*moving, *left]
        first = [about["id"] for about in sorted(every, key=lambda about: about["id"] != viewed)[:SHOWN]]
        shown = [about for about in every if about["id"] in first]
        return {"runs": shown, "more": len(every) - len(shown)}

    def act(self, run_id: str, action: str, token: str, caller: Caller) -> Json:
        """Pause, resume or stop a run."""
        if action not in ACTS:
            raise RequestError(f"A run can be paused, resumed or stopped here; got {action!r:.40}.")
        try:
            said = self._runs.acts(caller)[action](run_id, token)
        except (UserError, OSError) as error:
            return {"problem": str(error)}
        self.look_again()
        return {"said": said}

    def look_again(self) -> None:
        """Let the next question look at the folders, however short ago the last one did."""
        self._looked = float("-inf")

    def _on_screen(self, viewed: str, token: str, caller: Caller) -> list[Json]:
        try:
            folder = self._runs.controlled(viewed, token, caller)
            with reading(viewed):
                about = self._about(self._library.get(folder.id))
        except (UserError, OSError):
            return []
        return [about] if about["acts"] else []

    def _look(self) -> list[tuple[RunFolder, Json]]:
        with self._lock:
            if time.monotonic() - self._looked > _AGE:
                found = [(folder, self._of_folder(folder)) for folder in self._runs.trained_here()]
                self._seen = [(folder, about) for folder, about in found if about]
                self._looked = time.monotonic()
            return self._seen

    def _of_folder(self, folder: RunFolder) -> Json | None:
        if self._rests.get(folder.id) == (stamp := written(folder.path)):
            return None
        try:
            with reading(folder.id):
                if not folder.part_of:  # of a plan the plan itself is told of
                    run = self._library.get(folder.id)
                    phase = run.folder.state().phase
                    if PHASES[phase].moving or phase == _LEFT:
                        return self._about(run)
        except RunError:
            pass  # a damaged run is told of in the tab Runs
        self._rests[folder.id] = stamp
        return None

    def _about(self, run: Run) -> Json:
        state = run.folder.state()
        return {
            "id": run.id,
            "title": run_title(run),
            "plans": kind_of(run.config).plans,
            **state_json(run.folder, state, run.config),
            "queue_position": position(self._runs, run, state.phase),
            "number": _newest(run),
        }


def _newest(run: Run) -> Json | None:
    """Return the newest values of the first number that lists show of a run, one an arm; None before there is one."""
    kind = kind_of(run.config)
    keys = kind.headline(run.config)[:1]
    newest = run.folder.newest(*keys) if keys else {}
    values = [finite_number(newest.get((arm, key))) for key in keys for arm in range(run.config.arms)]
    if all(value is None for value in values):
        return None
    return {"title": kind.measures_of(run.config).describe(keys[0]).short, "values": values}


def training_routes(training: Training) -> list[Route]:
    """Return the addresses of the strip."""

    def listed(request: Request) -> Response:
        viewed = request.query_params.get("viewed", "")[:64]
        return json_reply(training.of(viewed, token_of(request), caller(request)))

    def act(request: Request, body: bytes) -> Response:
        asked = _Act.parse(body)
        return json_reply(training.act(asked.id, asked.action, token_of(request), caller(request)))

    return [*reads({"/training": listed}), *posts({"/training/act": act})]
