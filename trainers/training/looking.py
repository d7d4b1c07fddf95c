"""Evaluations of the arms during training: begun between two steps, finished from copies on the host.

On a GPU the device trains on while an evaluation is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The result of evaluating one arm on the probe.

    Attributes:
        embeddings: embeddings of the probe, float32 ``[P, D]``, unit rows, on the CPU.
        numbers: the scalars shown beside the arm's map, by key.
    """

    embeddings: Tensor
    numbers: Mapping[str, float]


Finish = Callable[[], list[Seen]]
"""Finishes an evaluation that has begun; returns one result per arm."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """An evaluation that has begun, and the state of training at that moment.

    Attributes:
        step, seconds: step and training time when it began.
        counted: for each arm the scalars that were counted by then, such as the share of clipped steps.
        results: one per arm, once it is finished.
    """

    step: int
    seconds: float
    counted: Sequence[Mapping[str, float]]
    results: Future[list[Seen]]


class Looker:
    """Finishes one evaluation at a time: at once on the CPU, in a thread while a GPU trains on."""

    def __init__(self, device: torch.device) -> None:
        self._pool = None if device.type == "cpu" else ThreadPoolExecutor(1, thread_name_prefix="look")

    def start(self, finish: Finish) -> Future[list[Seen]]:
        """Run ``finish``, which reads nothing but copies on the host; on the CPU it has ended when this returns."""
        if self._pool is not None:
            return self._pool.submit(finish)
        done: Future[list[Seen]] = Future()
        done.set_result(finish())
        return done
