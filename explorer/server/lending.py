"""One slice of training on a GPU that is lent for some seconds: it goes on from the checkpoint of the last one.

It runs in a process that ZeroGPU forks from the page, and is killed when its seconds are over.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from pathlib import Path

from trainers.devices.space import lent
from trainers.runs.slice_cost import note_set_up, read_cost

Lend = Callable[[str, float], float]
"""Trains a run in a folder for some seconds on a GPU; raises what ZeroGPU says if it lends none."""
FIRST_SET_UP = 30.0
"""Seconds that setting up is taken for before it has been measured."""
SLOWER = 1.3
"""Setting up in a slice compared with last time."""
SPARE = 3.0
"""Seconds for a step or a snapshot that is under way when the time is up."""


def set_up_of(folder: Path) -> float:
    """Return the seconds that setting up a run will take."""
    return read_cost(folder).set_up or FIRST_SET_UP


def asked(folder: str, seconds: float) -> int:
    """Return for how many seconds a GPU is to be lent, so that ``seconds`` of them are training."""
    return math.ceil(SLOWER * set_up_of(Path(folder)) + seconds + SPARE)


def train_slice(folder: str, seconds: float) -> float:
    """Train a run for ``seconds`` on the GPU that this process was lent; returns the seconds that it took in all.

    The state of the run says how it ended.

    Raises:
        RunError: another process trains this run, or it is gone.
    """
    import torch

    from trainers.runs import RunFolder
    from trainers.worker import Worker

    started, path = time.monotonic(), Path(folder)
    torch.set_num_threads(1)  # a forked process waits for ever for the threads that its parent had
    with lent():
        Worker(RunFolder.open(path.parent, path.name)).run(seconds, functools.partial(note_set_up, path))
    return time.monotonic() - started


def zerogpu() -> Lend:
    """Return :func:`train_slice` as ZeroGPU runs it: in a forked process that has a GPU.

    To be called before the page is served: ZeroGPU asks then which functions there are.
    """
    import spaces

    lend: Lend = spaces.GPU(train_slice, duration=asked)
    return lend
