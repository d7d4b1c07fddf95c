"""Reads what a run has written, and hands it to its tracker, in a thread of its own: a run never waits for it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from trainers.devices.space import public
from trainers.errors import RunError, brief
from trainers.kinds import arm_titles, kind_of
from trainers.pictures.moments import moments_of
from trainers.progress import interval
from trainers.runs import RunFolder
from trainers.runs.records import STAGE
from trainers.trackers import TRACKERS, Tracked, Tracker, check_there

LOOK_SECONDS = interval(0.5)
MAP_SECONDS = 60.0
"""Between two maps that are drawn while a run trains; the last one comes at its end."""
WAIT_SECONDS = 20.0
"""For a tracker to take what is left, at the end of a run; one that takes longer, or hangs, is left behind."""
ROWS = 5000
SIZE = (1280, 720)


@contextlib.contextmanager
def mirrored(folder: RunFolder) -> Iterator[None]:
    """Mirror a run while it trains, to the tracker that its folder names; nothing happens on a public page.

    Args:
        folder: of a run that is set up: what was written beyond its checkpoint is gone.
    """
    name = folder.track
    if name not in TRACKERS or public() or kind_of(folder.config).plans:
        yield
        return
    mirror = Mirror(folder, name)
    try:
        yield
    finally:
        mirror.close()


class Mirror:
    """Mirrors one run from now on; what goes wrong is a line in the run's log, once."""

    def __init__(self, folder: RunFolder, name: str) -> None:
        self._folder, self._name = folder, name
        self._tracker: Tracker | None = None
        self._titles = arm_titles(folder.config)
        last = folder.last_row()
        self._row = min(folder.tracked_row, last)
        written = [*folder.snapshots(), *(row[1:4] for row in folder.metric_rows(last - 1, 1))]
        self._step = max((step for _, step, _ in written), default=0)
        self._drawn = (-1, time.monotonic())
        self._over, self._told = threading.Event(), False
        self._thread = threading.Thread(target=self._work, name="rankscope tracker", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hand over what is left and the last maps; returns when the tracker has them, or takes too long."""
        self._over.set()
        self._thread.join(WAIT_SECONDS)
        if self._thread.is_alive():
            self._tell("it does not end")

    def _work(self) -> None:
        self._guarded(self._begin)
        while self._tracker is not None and not self._over.wait(LOOK_SECONDS):
            self._guarded(self._numbers)
            if time.monotonic() - self._drawn[1] > MAP_SECONDS:
                self._guarded(self._maps)
        if self._tracker is not None:
            for last in (self._numbers, self._maps, self._tracker.finish):
                self._guarded(last)

    def _begin(self) -> None:
        check_there(self._name)
        config = self._folder.config
        title = f"{' vs '.join(arm.name for arm in kind_of(config).arms(config))} on {kind_of(config).source(config)}"
        settings = json.loads(config.to_json())
        self._tracker = TRACKERS[self._name](
            Tracked(id=self._folder.id, title=title, settings=settings, root=self._folder.path.parent, step=self._step)
        )

    def _numbers(self) -> None:
        assert self._tracker is not None
        while rows := self._folder.metric_rows(self._row, ROWS):
            self._row = rows[-1][0]
            steps: dict[int, dict[str, float]] = {}
            for _, arm, step, key, value in rows:
                if value is not None and np.isfinite(value) and not key.startswith(STAGE):
                    steps.setdefault(step, {})[self._named(arm, key)] = value
            for step, values in sorted(steps.items()):
                self._tracker.numbers(step, values)
            self._folder.note_tracked(self._row)

    def _maps(self) -> None:
        assert self._tracker is not None
        newest = self._folder.snapshots()[-1:]
        if newest and newest[0][0] != self._drawn[0]:
            self._drawn = (newest[0][0], time.monotonic())
            moments = moments_of(self._folder, 1, components=True)
            self._tracker.picture(moments.steps[-1], moments.drawn(*SIZE))

    def _named(self, arm: int, key: str) -> str:
        return f"{self._titles[arm]}/{key}" if len(self._titles) > 1 else key

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # of any library: never into the run
            self._tell(f"{type(error).__name__}: {brief(error)}")

    def _tell(self, why: str) -> None:
        told, self._told = self._told, True
        if not told:
            with contextlib.suppress(RunError, OSError):
                self._folder.log(f"tracker {self._name}: not everything is mirrored, and the run goes on ({why})")
