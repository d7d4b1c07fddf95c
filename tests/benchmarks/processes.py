"""How a step of several processes grows with them: python -m tests.benchmarks.processes [--worlds 1 2 4]

Weak scaling on CPUs with gloo: every process has the same number of images, whatever the number of processes, and one
thread. In every process two arms take turns, one in the group, one as if it were alone; all processes take the same
turn at the same time, so that those alone share the cores as the group does. Where there are fewer cores than processes
the ratio to a single process is that of the cores; the ratio to the processes alone is the cost of the group.

Communication is the time inside torch.distributed, waiting for the others included. All are medians over the turns of
the first process.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

from tests.benchmarks._arm import arm_of, noise
from tests.benchmarks._harness import Spent, Work, median, timed
from tests.distributed.processes import run
from tests.programs import arguments, markdown
from trainers.distributed.group import join, rank, world
from trainers.kinds.metric_learning.batches import ImageBatch
from trainers.kinds.metric_learning.loop import LossArm

ENCODERS_TRIED = ("conv4", "timm:model=resnet18,pretrained=false", "timm:model=vit_tiny_patch16_224,pretrained=false")
DIM, WARM_UP = 128, 2  # numbers of an embedding, turns that are not counted
COLLECTIVES = ("all_gather_into_tensor", "all_reduce", "broadcast")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is measured: an encoder and a loss of the catalogue, images of ``side`` pixels, ``batch`` a process."""

    encoder: str
    loss: str
    batch: int
    side: int
    turns: int
    steps: int


# ------------------------------------------------------------------------------------------------ in every process


@contextmanager
def alone() -> Iterator[None]:
    """Within it this process trains as if there were no others."""
    with mock.patch.object(dist, "is_initialized", return_value=False):
        yield


@contextmanager
def timed_collectives(spent: list[float]) -> Iterator[None]:
    """Add the seconds inside each collective to ``spent``."""

    def counted(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            done = work(*args, **kwargs)
            spent.append(time.perf_counter() - started)
            return done

        return call

    with mock.patch.multiple(dist, **{name: counted(getattr(dist, name)) for name in COLLECTIVES}):
        yield


def seconds_of(work: Work, times: int) -> Spent:
    """Seconds of one of so many calls, all processes beginning together."""
    if world() > 1:
        dist.barrier()
    return timed(lambda: [work() for _ in range(times)]).each(times)


def measured(case: Case) -> dict[str, float]:
    """Seconds of a step of the group, alone, and in communication: medians over the turns."""

    def made() -> tuple[LossArm, ImageBatch]:
        arm = arm_of(case.encoder, case.loss, case.batch * world(), case.side, DIM, precision="float32")
        return arm, noise(case.batch, case.side, processes=world())

    together, batch = made()
    with alone():
        single, own = made()

    def step_alone() -> None:
        with alone():
            single.step(own, 1.0)

    group, others, sent = [], [], []
    for _ in range(WARM_UP + case.turns):
        spent: list[float] = []
        with timed_collectives(spent):
            group.append(seconds_of(lambda: together.step(batch, 1.0), case.steps))
        others.append(seconds_of(step_alone, case.steps))
        sent.append(Spent(sum(spent) / case.steps, 0.0))
    step, apart, talk = (median(some[WARM_UP:]) for some in (group, others, sent))
    names = ("step", "processor", "alone", "processor alone", "communication")
    return dict(zip(names, (*step, *apart, talk.clock), strict=True))


# ------------------------------------------------------------------------------------------------------- the table


def processes(count: int, case: Case) -> dict[str, float]:
    """Have so many processes measure a case; returns what the first one says."""
    command = ("-m", "tests.benchmarks.processes", "--measure", json.dumps(dataclasses.asdict(case)))
    lines = run(count, *command, told={"PYTHONWARNINGS": "ignore"}, seconds=3600)[0].splitlines()
    return dict(json.loads(next(line for line in lines if line.startswith("{"))))


def table(encoders: Sequence[str], worlds: Sequence[int], case: Case) -> str:
    """Measure every encoder with every number of processes."""
    rows = []
    for encoder in encoders:
        one = None
        for count in worlds:
            got = processes(count, dataclasses.replace(case, encoder=encoder))
            one = one or got["step"]
            numbers = (one / got["step"], got["alone"] / got["step"], got["processor alone"] / got["processor"])
            share = f"{100 * got['communication'] / got['step']:.0f} %"
            rows.append([encoder, count, f"{case.batch / got['step']:.0f}", *(f"{n:.2f}" for n in numbers), share])
    head = ["encoder", "processes", "images/s of each", "against the first row", "against as many alone"]
    return markdown([*head, "the same of processor time", "communication"], rows)


def main() -> None:
    """Print a table, or measure in one of the processes."""
    asked = arguments(
        __doc__,
        encoders=(list(ENCODERS_TRIED), "of the catalogue"),
        worlds=([1, 2, 4], "numbers of processes"),
        loss=("smooth_ap", "of the catalogue"),
        batch=(64, "images of each process"),
        side=(32, "of an image"),
        turns=(9, "that count"),
        steps=(3, "of a turn"),
        measure=("", "a case, in JSON, that one process of the group measures"),
    )
    if asked.measure:
        torch.set_num_threads(1)
        join()
        got = measured(Case(**json.loads(asked.measure)))
        if rank() == 0:
            print(json.dumps(got))
        if world() > 1:
            dist.barrier()
    else:
        case = Case(encoder="", **{name: getattr(asked, name) for name in ("loss", "batch", "side", "turns", "steps")})
        print(f"{case.batch} images of {case.side} pixels a process, {case.loss}, gloo, {os.cpu_count()} cores\n")
        print(table(asked.encoders, asked.worlds, case))


if __name__ == "__main__":
    main()
