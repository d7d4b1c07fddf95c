"""What a run costs beside its training: python -m tests.benchmarks.whole_run [--seconds 180] [--device cuda]

The trainer as its worker drives it (frames, numbers, checkpoints, commands, state, all written into a run folder)
against a bare loop over the same batches, encoder, loss and optimiser. The two take turns in one process, the bare loop
a quarter as long as the run, so that a busy machine is busy for both. It prints images a second by the clock and by the
processor's time, their ratios, the frames of the first 15 seconds and the longest wait for one. Reading the data before
the first step and scoring the whole test set after the last are no part of it.

Set OMP_WAIT_POLICY=PASSIVE when other work shares the cores.
"""

from __future__ import annotations

import tempfile
import time
from itertools import pairwise
from pathlib import Path

import torch

from tests.benchmarks._harness import Spent, timed
from tests.programs import arguments
from trainers.config import DataChoice, RunConfig
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.parameters import Choice, parse_choice
from trainers.runs import RunFolder
from trainers.worker import LISTEN_SECONDS, Worker

TURN, BARE_TURN = 4.0, 1.0  # seconds of the run, then of the bare loop
WARM_UP = 10  # steps of either that are not counted: the first ones allocate and choose kernels
FIRST_SECONDS = 15.0


class Bare(MetricLearningLoop):
    """Nothing but training, on the batches and from the weights of a run."""

    def __init__(self, run: MetricLearningLoop) -> None:
        super().__init__(RunFolder.create(run.folder.path.parent, run.folder.config))
        self._run = run

    def train(self, seconds: float) -> None:
        """Take steps for about ``seconds``; the schedule is that of the run."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.train_once()

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

    def train(self, seconds: float) -> None:
        """Take steps for about ``seconds``."""
        run, end = self._trainer, time.perf_counter() + seconds
        while time.perf_counter() < end and not run.done:
            self._listen()
            run.advance(LISTEN_SECONDS)
            self._show(run)

    def end(self) -> None:
        """Let go of the folder."""
        self._lock.release()


def measure(config: RunConfig, folder: Path) -> None:
    """Train to the end and print."""
    run = MetricLearningLoop(RunFolder.create(folder, config))
    bare, driven = Bare(run), Driven(run)
    for _ in range(WARM_UP):
        bare.train_once()
    spent: dict[str, list[Spent]] = {"whole run": [], "bare loop": []}
    while not run.done:
        spent["whole run"].append(timed(lambda: driven.train(TURN)))
        spent["bare loop"].append(timed(lambda: bare.train(BARE_TURN)))
    driven.end()
    images = config.classes_per_batch * config.images_per_class
    speeds = []
    for (name, some), steps in zip(spent.items(), (run.step, bare.step - WARM_UP), strict=True):
        clock, processor = (images * steps / sum(seconds) for seconds in zip(*some, strict=True))
        speeds.append((clock, processor))
        print(f"{name}  {clock:7.0f} images/s  {processor:7.0f} images per processor second  ({steps} steps)")
    clock, processor = (whole / plain for whole, plain in zip(*speeds, strict=True))
    print(f"ratio      {clock:7.3f} by the clock  {processor:7.3f} by the processor; at least 0.85 is wanted")
    times = [seconds for _, _, seconds in run.folder.snapshots()]
    waits = [later - earlier for earlier, later in pairwise([*times, run.seconds])]
    first = sum(seconds <= FIRST_SECONDS for seconds in times)
    print(f"frames     {len(times)}, {first} in the first {FIRST_SECONDS:.0f} s; longest wait {max(waits):.1f} s")


def main() -> None:
    """Train one loss."""
    given = arguments(
        __doc__,
        seconds=(180.0, "of training, as the run counts it"),
        data=("drawn", "as in `python -m trainers train --data`"),
        image_size=(int, "side of the images; chosen by the dataset if not given"),
        classes_per_batch=(MetricLearningConfig().classes_per_batch, "of four images"),
        loss=("smooth_ap", "of the catalogue"),
        encoder=(MetricLearningConfig().encoder.name, "of the catalogue"),
        device=("cpu", "cpu or cuda"),
        threads=(2, "of torch"),
    )
    name, parameters = parse_choice(given.encoder, ENCODERS)
    config = MetricLearningConfig(
        encoder=Choice(name=name, parameters=parameters),
        data=DataChoice(source=given.data, image_size=given.image_size),
        classes_per_batch=given.classes_per_batch,
        losses=(Choice(name=given.loss),),
        minutes=given.seconds / 60,
        device=given.device,
        threads=given.threads,
    )
    with tempfile.TemporaryDirectory() as folder:
        measure(config, Path(folder))


if __name__ == "__main__":
    main()
