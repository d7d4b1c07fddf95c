"""Serves all runs that need maps: those that train, and those that are being viewed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from explorer.layout.session import Session
from explorer.layout.warm import Warmth
from explorer.server.run import written
from trainers.errors import RunError
from trainers.progress import interval
from trainers.runs import RunFolder, list_runs

_log = logging.getLogger(__name__)

WATCH_SECONDS = 60.0  # a viewer renews its interest more often than that
ACTIVE_SECONDS = 30.0  # a run that trains writes its state more often than that
SCAN_SECONDS = interval(2.0)
PAUSE_AFTER_ERROR = 10.0


class LayoutService:
    """Lays out every run in turn, one frame at a time.

    Args:
        root: folder of the runs.
        warmth: says whether UMAP is ready.
        now: monotonic clock in seconds.
    """

    def __init__(self, root: Path, warmth: Warmth, now: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._warmth = warmth
        self._now = now
        self._watched: dict[str, float] = {}
        self._active: set[str] = set()
        self._scanned = -float("inf")
        self._sessions: dict[str, Session] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def watch(self, run_id: str) -> None:
        """Record that this run is being viewed now; thread-safe."""
        self._watched[run_id] = self._now()

    def tick(self) -> bool:
        """Offer each run one frame, or where no run wants one, one of them its refined map.

        Returns:
            whether there may be more to do at once.
        """
        wanted = self._wanted()
        for run_id in set(self._sessions) - wanted:
            self._sessions.pop(run_id).close()
        # newest runs first: they are the most likely to be viewed
        order = sorted(wanted, reverse=True)
        busy = any([self._offer(run_id, Session.advance) for run_id in order])
        return busy or any(self._offer(run_id, Session.refine) for run_id in order)

    def _wanted(self) -> set[str]:
        now = self._now()
        if now - self._scanned >= SCAN_SECONDS:
            self._scanned = now
            try:
                self._active = {folder.id for folder in list_runs(self._root) if _fresh(folder.path)}
            except RunError as error:
                _log.warning("%s", error)
        for run_id, seen in list(self._watched.items()):
            if now - seen > WATCH_SECONDS:
                del self._watched[run_id]
        return self._active | set(self._watched)

    def _offer(self, run_id: str, work: Callable[[Session, Warmth], bool]) -> bool:
        now = self._now()
        if run_id in self._failed and now - self._failed[run_id][0] < PAUSE_AFTER_ERROR:
            return False
        try:
            if run_id not in self._sessions:
                self._sessions[run_id] = Session(RunFolder.open(self._root, run_id))
            return work(self._sessions[run_id], self._warmth)
        except Exception as error:
            # whatever is wrong with one run, the others keep their maps
            self._forget(run_id, now, error)
            return False

    def _forget(self, run_id: str, now: float, error: Exception) -> None:
        message = f"{type(error).__name__}: {error}"
        if self._failed.get(run_id, (0.0, ""))[1] != message:
            _log.warning("run %s is passed over: %s", run_id[:40], message)
        self._failed[run_id] = (now, message)
        if len(self._failed) > 1000:
            self._failed.pop(next(iter(self._failed)))
        session = self._sessions.pop(run_id, None)
        if session is not None:
            session.close()


def _fresh(path: Path) -> bool:
    """Return whether the run's database was written to lately; a cheap check before it is opened."""
    newest = max((nanoseconds for _, nanoseconds, _ in written(path)), default=0)
    return time.time() - newest / 1e9 < ACTIVE_SECONDS
