"""Has the runs of a plan trained by an executor: in processes of this program's own, or by the queue of a page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from trainers.cluster.address import address
from trainers.cluster.executor import ClusterExecutor
from trainers.errors import RunError
from trainers.kinds import kind_of
from trainers.plans.children import Children, check_hopeful, total
from trainers.plans.config import SweepConfig, sweep_of
from trainers.plans.planned import Child
from trainers.progress import Progress, interval, silent
from trainers.runs import RunFolder
from trainers.runs.records import RunState
from trainers.training.executor import Executor, ProcessExecutor, local_devices

LOOK_SECONDS = interval(0.2)  # between two looks at the runs that train


class PlanRunner:
    """Does for a plan what :class:`trainers.training.loop.Loop` does for a run: a step is a run that has ended.

    Its state is in the folders of the runs, so a plan that is killed goes on where it was.

    Args:
        folder: of the plan.
        executor: trains the runs; None: a cluster, if one was named, or each in a process of its own, as many at once
            as the settings say.

    Attributes:
        children: its runs, as they were at the last look.
    """

    ending: ClassVar[str] = "comparing the results"

    def __init__(self, folder: RunFolder, _progress: Progress = silent, executor: Executor | None = None) -> None:
        self.folder = folder
        self._children = Children(folder)
        self._executor = executor or _own_processes(sweep_of(folder.config))
        self._children.queue_again()
        self.children: Sequence[Child] = self._children.all()

    @property
    def state(self) -> RunState:
        """How far it is: how many of its runs have ended, of how many."""
        return total(self.children)

    @property
    def step(self) -> int:
        """How many runs have ended."""
        return self.state.step

    @property
    def seconds(self) -> float:
        """Training time of the runs that have ended, together."""
        return self.state.seconds

    @property
    def planned_steps(self) -> int:
        """How many runs are planned so far."""
        return len(self.children)

    @property
    def how_far(self) -> str:
        """How far it is, in words."""
        return self.state.message

    def look(self) -> RunState:
        """Look at the runs again, and return how far it is."""
        self.children = self._children.all()
        return self.state

    def move_on(self) -> bool:
        """Look at the runs and launch those whose turn it is; return whether any has not ended.

        Raises:
            RunError: the next runs would fail as one did; see :func:`trainers.plans.children.check_hopeful`.
        """
        self._executor.reap()
        self.look()
        check_hopeful(self.children)
        left = [child for child in self.children if child.outcome is None]
        due = [child for child in left if not self._executor.holds(child.id) and not child.active]
        for child in due:
            run, asked = child.planned.config, self.folder.processes
            device = self._executor.free(kind_of(run).processes(run, asked))
            if device is None:
                break
            folder = self._children.begin(child)
            if folder is None:
                continue
            folder.db.close()
            self._executor.launch(folder.path, device)
            self.folder.log(f"run {child.id}: {child.planned.title}")
        return bool(left)

    def advance(self, seconds: float) -> bool:
        """Move on, and wait for about ``seconds``; return whether there is more to do."""
        more = self.move_on()
        if more:
            time.sleep(min(seconds, LOOK_SECONDS))
        return more

    def checkpoint(self) -> None:
        """Let the runs that train write their checkpoints and end."""
        self._executor.close()

    def finish(self, _progress: Progress | None = None) -> None:
        """Check that there is something to compare.

        Raises:
            RunError: no run has finished.
        """
        self._executor.close()
        if any(child.outcome is not None and child.outcome.finished for child in self.children):
            return
        errors = [child.outcome.error for child in self.children if child.outcome is not None and child.outcome.error]
        first = errors[0] if errors else "nothing"
        raise RunError(f"None of the {len(self.children)} runs finished; the first one says: {first}")


def _own_processes(config: SweepConfig) -> Executor:
    if address():
        return ClusterExecutor()
    return ProcessExecutor(devices=local_devices(config.run.device, config.parallel))
