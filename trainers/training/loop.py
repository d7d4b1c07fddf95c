"""The training loop of every kind of run: all arms in lockstep, stage after stage, resumable after any step."""

from __future__ import annotations

import dataclasses
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from trainers.data.pixel_range import PIXELS, PixelRange
from trainers.devices.device import choose
from trainers.devices.precision import computing_in
from trainers.distributed.group import agreed
from trainers.errors import RunError
from trainers.metrics.catalogue.training import PROCESSOR
from trainers.metrics.measures import TEST
from trainers.progress import Progress, silent, worded
from trainers.runs import RunFolder
from trainers.runs.checked import real, whole
from trainers.runs.damage import words
from trainers.runs.records import STAGE, Snapshot
from trainers.training.arm import Arm
from trainers.training.compiling import compile_encoders
from trainers.training.evaluation import Evaluation, Finish, Finisher
from trainers.training.memory import checkpointed, encode_in_chunks
from trainers.training.pinned import TrainedOn
from trainers.training.scalars import ScalarBuffer, ends_window
from trainers.training.stage import Pace, Reached, Stage, StageStart

CHECKPOINT_SECONDS = 5.0  # a killed run loses at most ten seconds: five, and a step and a snapshot on top
CHECKPOINT_SHARE = 0.05  # of the time, at most; a large model's checkpoints are further apart


@dataclass(frozen=True)
class Due:
    """What follows a step, as the first process says: a frame, a checkpoint; or the end of the time that was given."""

    snapshot: bool
    checkpoint: bool
    over: bool


COMPILING = "compiling the encoder, in the first steps"


class Loop(ABC):
    """Trains one run folder; a kind of run defines the batch, the evaluation and the last numbers.

    The constructor builds everything and continues from the folder's checkpoint if there is one; only :meth:`advance`
    trains. Usable in a worker process, in a time slice and in a test.

    Args:
        folder: the run; the caller holds its lock.
        progress: told what the set-up is doing, in words, and the fraction done; it may raise to give up.
    """

    arms: Sequence[Arm]
    ending: ClassVar[str] = "scoring the whole test set"

    def __init__(self, folder: RunFolder, progress: Progress | None = None) -> None:
        self.folder = folder
        self.config = folder.config.single
        self.step = 0
        self.seconds = 0.0
        self._k = 0
        self._last_snapshot = (-1, 0.0, 0.0)  # step, seconds, cost
        self._last_checkpoint = time.monotonic()
        self._checkpoint_cost = 0.0
        if self.config.threads is not None:
            torch.set_num_threads(min(self.config.threads, os.cpu_count() or 1))
        self._device, reason = choose(self.config.device)
        folder.log(f"device: {self._device}, because {reason}")
        self._scalars = ScalarBuffer(folder)
        self._pace = Pace()
        self._finisher = Finisher(self._device)
        self._evaluation: Evaluation | None = None
        self._epoch = 1
        self._images: tuple[int, int] | None = None
        self._pixel_range: PixelRange | None = None
        self._trained_on: TrainedOn | None = None
        self._build(progress or silent)
        for arm in self.arms:
            self._fit(arm)
        self.stages = tuple(stage.in_steps(self._epoch) for stage in self._stages())
        self._stage = StageStart()
        self._restore()
        self._compiles_after = self.step if self.config.compiled else -1
        if self.config.compiled:
            (progress or silent)(COMPILING, 0.0)

    # ------------------------------------------------------- what a run trains

    @abstractmethod
    def _build(self, tell: Progress) -> None:
        """Read the data, make :attr:`arms` and count the steps of an epoch, :attr:`_epoch`.

        A kind whose encoder can be exported sets :attr:`_images`, channels and side of its images, and where they have
        more than 8 bits :attr:`_pixel_range`; a kind that keeps their rows sets :attr:`_trained_on`.
        """

    def _stages(self) -> Sequence[Stage]:
        """Return the stages in order; one with the run's own settings unless a kind has more."""
        return (Stage.of(self.config),)

    @abstractmethod
    def _batch(self) -> Any:
        """Return what :meth:`Arm.step` of every arm gets in the step number :attr:`step`."""

    @abstractmethod
    def _evaluate(self, arm: Any) -> Finish:
        """Queue the evaluation of an arm on the probe; the returned function finishes it from copies on the host."""

    @abstractmethod
    def _last_numbers(self, tell: Progress) -> None:
        """Write the numbers over the whole test set, telling how far it is."""

    # ----------------------------------------------------------------- public

    @property
    def stage(self) -> Stage:
        """The stage that is trained."""
        return self.stages[self._stage.index]

    @property
    def done(self) -> bool:
        """Whether the budget of the last stage is spent."""
        return self.progress >= 1.0

    @property
    def progress(self) -> float:
        """Share of the budget used, 0..1; every stage counts alike."""
        return self._reached.of_run

    @property
    def planned_steps(self) -> int | None:
        """The number of steps the run will take, see :attr:`trainers.training.stage.Reached.planned_steps`."""
        return self._reached.planned_steps

    @property
    def how_far(self) -> str:
        """How far it is."""
        several = len(self.stages) > 1
        step = self.step - self._stage.step if several else self.step
        planned = self._reached.planned_in(self._stage.index) if several else self.planned_steps
        word = f"{self.stage.word or self.stage.title} " if several else ""
        doing = f"{COMPILING}: " if self.step == self._compiles_after else ""
        return f"{doing}{word}step {step:,}" + (f" of about {planned:,}" if planned else "")

    def advance(self, seconds: float) -> bool:
        """Train for about ``seconds`` or until the budget is spent; snapshots and checkpoints happen when due.

        Of several processes all call it, and all return after the same step: the first one's clock counts.

        Returns:
            whether there is more to do.

        Raises:
            NonFiniteLossError: the checkpoint is that of a good step, and no weight has changed since the last one.
        """
        end = time.monotonic() + seconds
        if self._last_snapshot[0] < 0:
            self._timed(self.snapshot)
        due = self._due(end)
        while not (self.done or due.over):
            self.take_step()
            self._timed(self._end_evaluation)
            due = self._due(end)
            if self._pause_for(due):
                due = self._due(end)
        return not self.done

    def take_step(self) -> None:
        """Take one step with every arm of which something is trained; nothing that may be due after it is done."""
        self._timed(self._one_step)

    def begin_next_stage(self) -> None:
        """Begin the stage after this one; a run that is killed later resumes in it."""
        self._timed(self._next_stage)

    def snapshot(self) -> None:
        """Embed and score the probe for every arm, and hand the embeddings to the maps.

        On a GPU this only begins the evaluation; the next snapshot, or a checkpoint, waits for its end.
        """
        if self._last_snapshot[0] == self.step:
            return
        self._settle()
        started = time.monotonic()
        counted = [arm.clipping.scalars() for arm in self.arms]
        evaluated = self.arms if self.step else self.arms[:1]  # equal weights at first: one evaluation serves all
        with computing_in(self.config.precision):
            begun = [self._evaluate(arm) for arm in evaluated]
        results = self._finisher.start(begun)
        self._evaluation = Evaluation(step=self.step, seconds=self.seconds, counted=counted, results=results)
        self._end_evaluation()
        self._last_snapshot = (self.step, self.seconds, time.monotonic() - started)

    def checkpoint(self) -> None:
        """Write everything that resuming needs, atomically.

        Raises:
            NonFiniteLossError: a step that a device worked on was bad; the checkpoint stays as it is.
        """
        started = time.monotonic()
        self._settle()
        tensors: dict[str, Tensor] = {}
        for arm in self.arms:
            tensors.update(arm.tensors())
        about: dict[str, object] = {
            "step": self.step,
            "seconds": self.seconds,
            "k": self._k,
            "last_snapshot": self._last_snapshot[:2],
            "stage": dataclasses.astuple(self._stage),
            "processor_seconds": [arm.processor_seconds for arm in self.arms],
            "scalars": self._scalars.state(),
        }
        if self._images is not None:
            about["images"] = self._images
        if self._pixel_range is not None:
            about[PIXELS] = self._pixel_range.as_list()
        if self._trained_on is not None:
            about |= self._trained_on.about()
        self.folder.write_checkpoint(tensors, about)
        self._last_checkpoint = time.monotonic()
        self._checkpoint_cost = self._last_checkpoint - started

    def finish(self, progress: Progress | None = None) -> None:
        """Write the last frame, the last checkpoint, and the numbers over the whole test set.

        The checkpoint comes before the numbers, which may take long: whoever stops or kills it there and resumes gets
        the same numbers from the same weights.

        Args:
            progress: told what is scored, in words, and the fraction done; it may raise to give up.
        """
        self.snapshot()
        self.checkpoint()
        self._scalars.end_window()
        if self._device.type == "cpu":  # elsewhere the processor waits while the device works
            for arm in self.arms:
                self._scalars.now(arm.index, self.step, self.seconds, {f"{TEST}{PROCESSOR}": arm.processor_seconds})
        with computing_in(self.config.precision):
            self._last_numbers(progress or silent)
        for sentence in (sentence for arm in self.arms for sentence in arm.sentences()):
            self.folder.log(sentence)
        self._scalars.flush()

    # ---------------------------------------------------------------- private

    def _fit(self, arm: Arm) -> None:
        """Have an arm's networks use memory and time as the settings say."""
        if self.config.channels_last != "auto":
            arm.lay_out(torch.channels_last if self.config.channels_last == "on" else torch.contiguous_format)
        if self.config.checkpointing:
            arm.checkpointed = [encoder for net in arm.networks.values() for encoder in checkpointed(net)]
        for net in arm.networks.values():
            if self.config.compiled:
                compile_encoders(net)
            encode_in_chunks(net, self.config.chunk)

    @property
    def _reached(self) -> Reached:
        return Reached(stages=self.stages, start=self._stage, step=self.step, seconds=self.seconds)

    def _due(self, end: float) -> Due:
        """Have all processes agree on the seconds so far and on what follows; ``end``: of the time that was given."""
        now = time.monotonic()
        wait = max(CHECKPOINT_SECONDS, self._checkpoint_cost / CHECKPOINT_SHARE)
        mine = (self._snapshot_due(), now - self._last_checkpoint > wait, now >= end)
        self.seconds, *due = agreed((self.seconds, *mine))
        return Due(*map(bool, due))

    def _pause_for(self, due: Due) -> bool:
        """Begin the next stage, make a frame, write a checkpoint; returns whether there was anything to do."""
        stage_over = self._reached.of_stage >= 1.0 and self.stage is not self.stages[-1]
        if stage_over:
            self.begin_next_stage()
        if due.snapshot:
            self._timed(self.snapshot)
        if due.checkpoint:
            self._timed(self.checkpoint)
        return stage_over or due.snapshot or due.checkpoint

    def _one_step(self) -> None:
        begun = time.process_time()
        batch = self._batch()
        made = time.process_time() - begun
        factor = self.stage.factor(self.step - self._stage.step, self._reached.scheduled, self._epoch)
        for arm in self.arms:
            if arm.waits:
                continue
            # dropout and the like must be the same for every arm, and the same again after a resume
            torch.manual_seed(self.config.seed * 1_000_003 + self.step)
            started, begun, counted = time.monotonic(), time.process_time(), arm.processor_seconds
            with computing_in(self.config.precision):
                scalars = arm.step(batch, factor)
            arm.after_step()
            if arm.processor_seconds == counted:  # it does not count itself; the batch is charged to every arm
                arm.processor_seconds += made + time.process_time() - begun
            scalars["images_per_s"] = scalars.pop("examples") / (time.monotonic() - started)
            self._scalars.add(arm.index, self.step + 1, self.seconds, scalars)
        self.step += 1
        if ends_window(self.step - self._stage.step, self.stage.steps):
            self._scalars.end_window()

    def _next_stage(self) -> None:
        self._settle()
        self._scalars.end_window()
        self._stage = StageStart(index=self._stage.index + 1, step=self.step, seconds=self.seconds)
        self.folder.log(f"stage {self._stage.index + 1}, {self.stage.title}, from step {self.step}")
        for arm in self.arms:
            arm.begin(self.stage)
        self._tell_stage()
        self.checkpoint()

    def _tell_stage(self) -> None:
        """Write where a stage begins, for the curves; nothing in a run of one stage."""
        if len(self.stages) > 1:
            for arm in self.arms:
                number = {f"{STAGE}{self.stage.title}": float(self._stage.index)}
                self._scalars.now(arm.index, self.step, self.seconds, number)

    def _settle(self) -> None:
        """Wait for what a device still works on: the steps of every arm, and the evaluation that has begun."""
        for arm in self.arms:
            arm.settle()
        self._end_evaluation(wait=True)

    def _end_evaluation(self, wait: bool = False) -> None:
        """Write the results of the evaluation that has begun, if it has ended; ``wait``: wait until it has."""
        begun = self._evaluation
        if begun is None or not (wait or begun.results.done()):
            return
        self._evaluation = None
        results = begun.results.result()
        results *= len(self.arms) // len(results)
        for arm, counted, result in zip(self.arms, begun.counted, results, strict=True):
            self._scalars.now(arm.index, begun.step, begun.seconds, {**result.numbers, **counted})
        self._scalars.flush()
        embeddings = tuple(result.embeddings for result in results)
        self.folder.add_snapshot(Snapshot(k=self._k, step=begun.step, seconds=begun.seconds, embeddings=embeddings))
        self._pace.add(self._k, begun.seconds, embeddings)
        self._k += 1

    def _timed(self, work: Callable[[], None]) -> None:
        started = time.monotonic()
        work()
        self.seconds += time.monotonic() - started

    def _each_arm(self, tell: Progress) -> Iterator[tuple[Any, Progress]]:
        """Yield every arm with a progress function for its last numbers; it names the arm where there are several."""
        for number, arm in enumerate(self.arms, start=1):
            which = f", {arm.title} ({number} of {len(self.arms)})" if len(self.arms) > 1 else ""
            yield arm, worded(tell, after=which)

    def _is_written(self, key: str) -> bool:
        """Return whether a number of this name was written before."""
        return bool(self.folder.db.rows("SELECT 1 FROM metrics WHERE key = ? LIMIT 1", (key,)))

    def _snapshot_due(self) -> bool:
        step, seconds, cost = self._last_snapshot
        if self.config.snapshot_steps:
            return self.step - step >= self.config.snapshot_steps
        return self._pace.due(self.seconds - seconds, cost)

    def _restore(self) -> None:
        checkpoint = self.folder.read_checkpoint()
        tensors, about = checkpoint or ({}, {})
        if self._trained_on is not None:
            self._trained_on.check(about, self.folder.id)
        try:
            index, first, seconds = about.get("stage", (0, 0, 0.0))
            self._stage = StageStart(
                index=whole(index, "stage"), step=whole(first, "first step"), seconds=real(seconds, "seconds")
            )
            for arm in self.arms:
                arm.begin(self.stage)
            if checkpoint is None:
                self.folder.rewind(0)
                self._tell_stage()
                return
            for arm in self.arms:
                arm.load(tensors)
            self.step, self._k = whole(about["step"], "step"), whole(about["k"], "k")
            self.seconds = real(about["seconds"], "seconds")
            step, seconds = about["last_snapshot"]
            self._last_snapshot = (int(step), float(seconds), 0.0)
            spent = about.get("processor_seconds", [0.0] * len(self.arms))  # checkpoints written before it was measured
            for arm, processor in zip(self.arms, spent, strict=True):
                arm.processor_seconds = real(processor, "processor seconds")
            self._scalars.load(self.step, self.seconds, about.get("scalars", ()))  # there are none in older checkpoints
        except (KeyError, IndexError, RuntimeError, ValueError, TypeError) as error:
            why = "".join(words(error).splitlines()[-1:]).strip()  # torch lists what differs below a heading
            raise RunError(
                f"The checkpoint of run {self.folder.id} does not fit its configuration and images ({why}). Restore "
                "them as they were, or start a new run."
            ) from error
        self.folder.rewind(self.step)
        self.folder.log(f"resumed at step {self.step}")
