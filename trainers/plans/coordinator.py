"""Trains the runs of a plan, each in a process of its own, as many at once as there are devices."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import ClassVar

from trainers.config import RunConfig
from trainers.data.base import Progress
from trainers.errors import RunError
from trainers.plans.children import Children, check_hopeful, total
from trainers.plans.planned import Child
from trainers.runs import RunFolder
from trainers.runs.records import PHASES
from trainers.training.executor import ProcessExecutor
from trainers.training.gpus import gpus

LOOK_SECONDS = 0.2  # between two looks at the runs that train


class Coordinator:
    """Does for a plan what :class:`trainers.training.loop.Loop` does for a run: a step is a run that has ended.

    Its state is in the folders of the runs, so a plan that is killed goes on where it was.

    Args:
        folder: of the plan.
        executor: starts the trainers; None: each in a process of its own.
    """

    ending: ClassVar[str] = "comparing the results"

    def __init__(self, folder: RunFolder, _progress: Progress, executor: ProcessExecutor | None = None) -> None:
        self.folder = folder
        self._children = Children(folder)
        self._executor = executor or ProcessExecutor()
        self._places = _places(folder.config)
        self._training: dict[str, int] = {}  # id to place
        self._children.queue_again()
        self._known = self._children.all()

    @property
    def step(self) -> int:
        """How many runs have ended."""
        return total(self._known).step

    @property
    def seconds(self) -> float:
        """Training time of the runs that have ended, together."""
        return total(self._known).seconds

    @property
    def planned_steps(self) -> int:
        """How many runs are planned so far."""
        return len(self._known)

    @property
    def how_far(self) -> str:
        """How far it is."""
        return total(self._known).message

    def advance(self, seconds: float) -> bool:
        """Start the runs whose turn it is, and wait for about ``seconds``; returns whether there is more to do."""
        for ended in self._executor.reap():
            self._training.pop(ended.id, None)
        self._known = self._children.all()
        check_hopeful(self._known)
        waiting = [child for child in self._known if child.outcome is None and child.id not in self._training]
        due = [child for child in waiting if not (child.phase in PHASES and PHASES[child.phase].active)]
        for child in due[: max(0, len(self._places) - len(self._training))]:
            self._launch(child)
        if not self._training and not waiting:
            return False
        time.sleep(min(seconds, LOOK_SECONDS))
        return True

    def checkpoint(self) -> None:
        """Let the runs that train write their checkpoints and end."""
        self._executor.close()
        self._training.clear()

    def finish(self, _progress: Progress | None = None) -> None:
        """Check that there is something to compare.

        Raises:
            RunError: no run has finished.
        """
        self._executor.close()
        if not any(child.outcome is not None and child.outcome.finished for child in self._known):
            raise RunError(nothing_finished(self._known))

    def _launch(self, child: Child) -> None:
        folder = self._children.begin(child)
        if folder is None:
            return
        folder.db.close()
        place = next(index for index in range(len(self._places)) if index not in self._training.values())
        self._executor.launch(folder.path, self._places[place])
        self._training[child.id] = place
        self.folder.log(f"run {child.id}: {child.planned.title}")


def _places(config: RunConfig) -> list[dict[str, str]]:
    """What each run that trains at the same time gets in its environment: a GPU of its own, or a share of the cores."""
    if config.device == "auto" and gpus():
        return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus()]
    parallel = min(getattr(config, "parallel", 1), os.cpu_count() or 1)
    threads = max(1, (os.cpu_count() or 1) // parallel)
    return [{"OMP_NUM_THREADS": str(threads)} for _ in range(parallel)]


def nothing_finished(children: Sequence[Child]) -> str:
    """Why a plan without any result failed."""
    errors = [child.outcome.error for child in children if child.outcome is not None and child.outcome.error]
    return f"None of the {len(children)} runs finished; the first one says: {errors[0] if errors else 'nothing'}"
