"""What a run costs beside its training: python -m tests.benchmarks.whole_run [--seconds 180] [--data DIR]

The trainer as its worker drives it (frames, numbers, checkpoints, commands, state, all written into a run folder)
against a bare loop over the same batches, encoder, loss and optimiser. The two take turns in one process, the bare loop
a quarter as long as the run, so that a busy machine is busy for both. It prints images a second by the clock and by the
processor's time, their ratios, the frames of the first 15 seconds and the longest wait for one. Reading the data before
the first step and scoring the whole test set after the last are no part of it.

Set OMP_WAIT_POLICY=PASSIVE when other work shares the cores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch

from trainers.config import DataChoice, RunConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.worker import LISTEN_SECONDS, Worker

TURN, BARE_TURN = 4.0, 1.0  # seconds of the run, then of the bare loop
WARM_UP = 10  # steps of either that are not counted: the first ones allocate and choose kernels
FIRST_SECONDS = 15.0


@dataclass
class Tally:
    """Steps and the seconds they took, by the clock and by the processor (summed over threads)."""

    steps: int = 0
    clock: float = 0.0
    processor: float = 0.0

    def count(self, work: Callable[[], int]) -> None:
        """Do ``work``, which returns the steps it took."""
        clock, processor = time.perf_counter(), time.process_time()
        self.steps += work()
        self.clock += time.perf_counter() - clock
        self.processor += time.process_time() - processor


class Bare(MetricLearningLoop):
    """Nothing but training, on the batches and from the weights of a run."""

    def __init__(self, run: MetricLearningLoop) -> None:
        super().__init__(RunFolder.create(run.folder.path.parent, run.folder.config))
        self._run = run

    def train(self, seconds: float) -> int:
        """Steps taken in about ``seconds``; the schedule is that of the run."""
        end, before = time.perf_counter() + seconds, self.step
        while time.perf_counter() < end:
            self.train_once()
        return self.step - before

    def train_once(self) -> None:
        """Take one step."""
        factor = self._run.stage.factor(self.step, self._run.progress, 1)
        torch.manual_seed(self.step)
        self.arms[0].step(self._batch(), factor)
        self.step += 1


class Driven(Worker):
    """The run, as its worker goes round: commands, a slice of training, state."""

    def __init__(self, run: MetricLearningLoop) -> None:
        super().__init__(run.folder)
        self._trainer = run
        self._lock.acquire()

    def train(self, seconds: float) -> int:
        """Steps taken in about ``seconds``."""
        run, end, before = self._trainer, time.perf_counter() + seconds, self._trainer.step
        while time.perf_counter() < end and not run.done:
            self._listen()
            run.advance(LISTEN_SECONDS)
            self._show(run)
        return run.step - before

    def end(self) -> None:
        """Let go of the folder."""
        self._lock.release()


def measure(config: RunConfig, folder: Path) -> None:
    """Train to the end and print."""
    run = MetricLearningLoop(RunFolder.create(folder, config))
    bare, driven = Bare(run), Driven(run)
    for _ in range(WARM_UP):
        bare.train_once()
    whole, plain = Tally(), Tally()
    while not run.done:
        whole.count(lambda: driven.train(TURN))
        plain.count(lambda: bare.train(BARE_TURN))
    driven.end()
    images = config.classes_per_batch * config.images_per_class
    for name, tally in (("bare loop", plain), ("whole run", whole)):
        clock, processor = images * tally.steps / tally.clock, images * tally.steps / tally.processor
        print(f"{name}  {clock:7.0f} images/s  {processor:7.0f} images per processor second  ({tally.steps} steps)")
    clock = whole.steps / whole.clock / (plain.steps / plain.clock)
    processor = whole.steps / whole.processor / (plain.steps / plain.processor)
    print(f"ratio      {clock:7.3f} by the clock  {processor:7.3f} by the processor; at least 0.85 is wanted")
    times = [seconds for _, _, seconds in run.folder.snapshots()]
    waits = [later - earlier for earlier, later in pairwise([*times, run.seconds])]
    first = sum(seconds <= FIRST_SECONDS for seconds in times)
    print(f"frames     {len(times)}, {first} in the first {FIRST_SECONDS:.0f} s; longest wait {max(waits):.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180.0, help="of training, as the run counts it")
    parser.add_argument("--data", default="drawn", help="as in `python -m trainers train --data`")
    parser.add_argument("--loss", default="smooth_ap")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    config = MetricLearningConfig(
        data=DataChoice(source=given.data),
        losses=(Choice(name=given.loss),),
        minutes=given.seconds / 60,
        device="cpu",
        threads=given.threads,
    )
    with tempfile.TemporaryDirectory() as folder:
        measure(config, Path(folder))


if __name__ == "__main__":
    main()
