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
class ProbeResult:
    """The result of evaluating one arm on the probe.

    Attributes:
        embeddings: embeddings of the probe, float32 ``[P, D]``, unit rows, on the CPU.
        numbers: the scalars shown beside the arm's map, by key.
    """

    embeddings: Tensor
    numbers: Mapping[str, float]


Finish = Callable[[], ProbeResult]
"""Finishes the evaluation of one arm from copies on the host, in any thread."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An evaluation that has begun, and the state of training at that moment.

    Attributes:
        step, seconds: step and training time when it began.
        counted: for each arm the scalars that were counted by then, such as the share of clipped steps.
        results: one per arm, once it is finished.
    """

    step: int
    seconds: float
    counted: Sequence[Mapping[str, float]]
    results: Future[list[ProbeResult]]


class Finisher:
    """Finishes one evaluation at a time: at once on the CPU, in a thread while a GPU trains on."""

    def __init__(self, device: torch.device) -> None:
        self._pool = None if device.type == "cpu" else ThreadPoolExecutor(1, thread_name_prefix="evaluation")

    def start(self, begun: Sequence[Finish]) -> Future[list[ProbeResult]]:
        """Finish the arms' evaluations; on the CPU they have ended when this returns."""
        if self._pool is not None:
            return self._pool.submit(_finished, begun)
        done: Future[list[ProbeResult]] = Future()
        done.set_result(_finished(begun))
        return done


def _finished(begun: Sequence[Finish]) -> list[ProbeResult]:
    return [finish() for finish in begun]
