"""The one training loop: every arm of a comparison in lockstep, resumable after any step."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from trainers.data.base import Progress, silent
from trainers.errors import RunError
from trainers.runs import RunFolder
from trainers.runs.records import Snapshot
from trainers.training.clipping import Clipping
from trainers.training.device import choose
from trainers.training.looking import Finish, Look, Looker
from trainers.training.pace import Pace
from trainers.training.scalars import ScalarBuffer
from trainers.training.validation import check

CHECKPOINT_SECONDS = 5.0  # a killed run loses at most ten seconds: five, and a step and a snapshot on top


class LoopArm(Protocol):
    """What the loop knows of an arm: its place and title, its clipping, its steps that a device still works on, and
    what a checkpoint of it holds."""

    index: int
    title: str

    @property
    def clipping(self) -> Clipping:
        """How often its gradient was clipped."""

    def settle(self) -> None:
        """Wait for the steps taken so far; raises what was wrong with one of them."""

    def tensors(self) -> dict[str, Tensor]:
        """Everything that resuming needs, by name."""

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`tensors` gave."""


class Loop(ABC):
    """Trains one run folder; a subclass says what a step, a look and the last numbers are.

    Builds everything in the constructor, continues from the folder's checkpoint if there is one, and then only
    :meth:`advance` moves. Usable in a worker process, in a time slice and in a test.

    Args:
        folder: the run; its lock is the caller's business.
        progress: told what the set-up is doing, in words, and the fraction done; it may raise to give up.
    """

    arms: Sequence[LoopArm]

    def __init__(self, folder: RunFolder, progress: Progress | None = None) -> None:
        self.folder = folder
        self.config = folder.config
        self.step = 0
        self.seconds = 0.0
        self._k = 0
        self._last_snapshot = (-1, 0.0, 0.0)  # step, seconds, cost
        self._last_checkpoint = time.monotonic()
        check(self.config)
        if self.config.threads is not None:
            torch.set_num_threads(self.config.threads)
        self._device, reason = choose(self.config.device)
        folder.log(f"device: {self._device}, because {reason}")
        self._scalars = ScalarBuffer(folder)
        self._pace = Pace()
        self._looker = Looker(self._device)
        self._look_begun: Look | None = None
        self._build(progress or silent)
        self._restore()

    # ------------------------------------------------------- what a run trains

    @abstractmethod
    def _build(self, tell: Progress) -> None:
        """Read the data and make :attr:`arms`."""

    @abstractmethod
    def _one_step(self) -> None:
        """One optimiser step of every arm; counts :attr:`step` up."""

    @abstractmethod
    def _look(self) -> Finish:
        """Queue a look at every arm; what comes back ends it from copies on the host, in a thread if need be."""

    @abstractmethod
    def _last_numbers(self, tell: Progress) -> None:
        """Write the numbers over the whole test set, telling how far it is."""

    # ----------------------------------------------------------------- public

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.progress >= 1.0

    @property
    def progress(self) -> float:
        """Share of the budget used, 0..1; of steps and minutes the larger."""
        steps = self.step / self.config.steps if self.config.steps else 0.0
        time_used = self.seconds / (60 * self.config.minutes) if self.config.minutes else 0.0
        return min(1.0, max(steps, time_used))

    @property
    def planned_steps(self) -> int | None:
        """The number of steps the run will take: the limit, or an estimate from the speed so far."""
        if self.config.steps and not self.config.minutes:
            return self.config.steps
        if not self.step or not self.progress:
            return self.config.steps
        return max(self.step, round(self.step / self.progress))

    def advance(self, seconds: float) -> bool:
        """Train for about ``seconds`` or until the budget is spent; snapshots and checkpoints happen when due.

        Returns:
            whether there is more to do.

        Raises:
            NonFiniteLossError: the checkpoint is that of a good step, and no weight has changed since the last one.
        """
        end = time.monotonic() + seconds
        if self._last_snapshot[0] < 0:
            self._timed(self.snapshot)
        while not self.done and time.monotonic() < end:
            self._timed(self._one_step)
            self._timed(self._end_look)
            if self._snapshot_due():
                self._timed(self.snapshot)
            if time.monotonic() - self._last_checkpoint > CHECKPOINT_SECONDS:
                self._timed(self.checkpoint)
        return not self.done

    def snapshot(self) -> None:
        """Embed and score the probe for every arm, and hand the embeddings to the maps.

        Where a device trains on meanwhile this only begins it; the next one, or a checkpoint, waits for its end.
        """
        if self._last_snapshot[0] == self.step:
            return
        self._settle()
        started = time.monotonic()
        counted = [arm.clipping.scalars() for arm in self.arms]
        found = self._looker.start(self._look())
        self._look_begun = Look(step=self.step, seconds=self.seconds, counted=counted, found=found)
        self._end_look()
        self._last_snapshot = (self.step, self.seconds, time.monotonic() - started)

    def checkpoint(self) -> None:
        """Write everything that resuming needs, atomically.

        Raises:
            NonFiniteLossError: a step that a device worked on was bad; the checkpoint stays as it is.
        """
        self._settle()
        self._scalars.flush()
        tensors: dict[str, Tensor] = {}
        for arm in self.arms:
            tensors.update(arm.tensors())
        about = {"step": self.step, "seconds": self.seconds, "k": self._k, "last_snapshot": self._last_snapshot[:2]}
        self.folder.write_checkpoint(tensors, about)
        self._last_checkpoint = time.monotonic()

    def finish(self, progress: Progress | None = None) -> None:
        """The last frame, the last checkpoint, and the numbers over the whole test set.

        The checkpoint comes before the numbers, which may take long: whoever stops or kills it there and resumes gets
        the same numbers from the same weights.

        Args:
            progress: told what is scored, in words, and the fraction done; it may raise to give up.
        """
        self.snapshot()
        self.checkpoint()
        self._last_numbers(progress or silent)
        for sentence in filter(None, (arm.clipping.sentence(arm.title) for arm in self.arms)):
            self.folder.log(sentence)
        self._scalars.flush()

    # ---------------------------------------------------------------- private

    def _settle(self) -> None:
        """Wait for what a device still works on: the steps of every arm, and the look that has begun."""
        for arm in self.arms:
            arm.settle()
        self._end_look(wait=True)

    def _end_look(self, wait: bool = False) -> None:
        """Write what the look that has begun found, if it has ended; ``wait``: until it has."""
        look = self._look_begun
        if look is None or not (wait or look.found.done()):
            return
        self._look_begun = None
        found = look.found.result()
        for arm, counted, seen in zip(self.arms, look.counted, found, strict=True):
            self._scalars.now(arm.index, look.step, look.seconds, {**seen.numbers, **counted})
        self._scalars.flush()
        embeddings = tuple(seen.embeddings for seen in found)
        self.folder.add_snapshot(Snapshot(k=self._k, step=look.step, seconds=look.seconds, embeddings=embeddings))
        self._pace.saw(self._k, look.seconds, embeddings)
        self._k += 1

    def _timed(self, work: Callable[[], None]) -> None:
        started = time.monotonic()
        work()
        self.seconds += time.monotonic() - started

    def _is_written(self, key: str) -> bool:
        """Whether a number of this name was written before."""
        return bool(self.folder.db.rows("SELECT 1 FROM metrics WHERE key = ? LIMIT 1", (key,)))

    def _snapshot_due(self) -> bool:
        step, seconds, cost = self._last_snapshot
        if self.config.snapshot_steps:
            return self.step - step >= self.config.snapshot_steps
        return self._pace.due(self.seconds - seconds, cost)

    def _restore(self) -> None:
        found = self.folder.read_checkpoint()
        if found is None:
            self.folder.rewind(0)
            return
        tensors, about = found
        try:
            for arm in self.arms:
                arm.load(tensors)
            self.step, self.seconds, self._k = int(about["step"]), float(about["seconds"]), int(about["k"])  # type: ignore[arg-type]
        except (KeyError, RuntimeError, ValueError, TypeError) as error:
            raise RunError(f"The checkpoint of run {self.folder.id} does not fit its configuration: {error}") from error
        step, seconds = about["last_snapshot"]  # type: ignore[misc]
        self._last_snapshot = (int(step), float(seconds), 0.0)
        self.folder.rewind(self.step)
        self.folder.log(f"resumed at step {self.step}")
