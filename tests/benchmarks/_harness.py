"""How benchmarks measure: by the clock and the processor, in turn with what they are compared with, or apart."""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple, TypeVar

import torch

Work = Callable[[], object]
Result = TypeVar("Result")


class Spent(NamedTuple):
    """Seconds by the clock, and of the processor, summed over threads, which other programs disturb less."""

    clock: float
    processor: float

    def used(self, device: str) -> float:
        """Those to compare by: of the processor on a CPU, by the clock on a GPU."""
        return self.processor if device == "cpu" else self.clock

    def each(self, count: int) -> Spent:
        """Of one of so many."""
        return Spent(self.clock / count, self.processor / count)


def timed(work: Work, device: str = "cpu") -> Spent:
    """Seconds of a call, the GPU's work awaited."""
    if device != "cpu":
        torch.cuda.synchronize()
    clock, processor = time.perf_counter(), time.process_time()
    work()
    if device != "cpu":
        torch.cuda.synchronize()
    return Spent(time.perf_counter() - clock, time.process_time() - processor)


def median(spent: list[Spent]) -> Spent:
    """Of each clock apart."""
    return Spent(*map(statistics.median, zip(*spent, strict=True)))


def in_turn(works: Mapping[str, Work], rounds: int, device: str = "cpu", warm_up: int = 2) -> dict[str, Spent]:
    """Medians of calls that take turns, so that a busy machine is busy for all; the first ones are not counted.

    Those allocate and choose kernels.
    """
    spent: dict[str, list[Spent]] = {name: [] for name in works}
    for _ in range(warm_up + rounds):
        for name, work in works.items():
            spent[name].append(timed(work, device))
    return {name: median(some[warm_up:]) for name, some in spent.items()}


def memory(device: str = "cpu", *, now: bool = False) -> float:
    """Peak megabytes so far, resident or allocated on the device; ``now``: those allocated on it at the moment."""
    if device != "cpu":
        return (torch.cuda.memory_allocated() if now else torch.cuda.max_memory_allocated()) / 2**20
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def grown(work: Work, rounds: int, device: str = "cpu") -> tuple[Spent, float]:
    """The median of so many calls after a first one, and the megabytes that they add to what there was."""
    before = memory(device, now=True)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    return in_turn({"": work}, rounds, device, warm_up=1)[""], memory(device) - before


def apart(work: Callable[..., Result], *values: object) -> Result | None:
    """``work(*values)`` in a process of its own that has nothing but the libraries; None: it died, out of memory."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["trainers.encoders", "trainers.losses", "trainers.training.memory"])
    with ProcessPoolExecutor(1, mp_context=processes) as pool:
        try:
            return pool.submit(work, *values).result()
        except (BrokenProcessPool, MemoryError, torch.OutOfMemoryError):
            return None
