"""A scheduler over a folder of runs, with trainers of a few lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.waiting import wait
from trainers.training.executor import ProcessExecutor

STAND_IN = Path(__file__).with_name("stand_in.py")


class Bench:
    """A scheduler over a folder of runs; ``tick`` is called by hand, so that nothing happens in between."""

    def __init__(self, root: Path, how: str = "600", **settings: object) -> None:
        self.settings = Settings(runs=root / "runs", recorded=root / "recorded", **settings)
        self.how = how
        self.open()

    def open(self) -> None:
        executor = ProcessExecutor(
            detach=self.settings.detach, command=lambda path: [sys.executable, str(STAND_IN), str(path), self.how]
        )
        self.scheduler = Scheduler(self.settings, executor)
        self.runs = Runs(self.settings, self.scheduler)

    def phase(self, run_id: str) -> str:
        return self.runs.status(run_id)["phase"]

    def until(self, run_id: str, *phases: str, ticking: bool = True) -> None:
        self.wait(lambda: self.phase(run_id) in phases, lambda: f"{run_id} is {self.phase(run_id)}", ticking)

    def wait(self, done: Callable[[], bool], words: Callable[[], str] = str, ticking: bool = True) -> None:
        wait(done, words=words, meanwhile=self.scheduler.tick if ticking else str)
