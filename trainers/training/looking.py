"""Looks at the arms that do not hold up a device: begun between two steps, finished from copies on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a look finds of one arm.

    Attributes:
        embeddings: the probe's unit rows float32 ``[P, D]``, on the CPU.
        numbers: the scalars shown beside its map, by key.
    """

    embeddings: Tensor
    numbers: Mapping[str, float]


Finish = Callable[[], list[Seen]]


@dataclass(frozen=True, kw_only=True)
class Look:
    """A look that has begun, and what is known of its moment.

    Attributes:
        step, seconds: of training, when it began.
        counted: for each arm the scalars that were known then.
        found: what it finds, of every arm.
    """

    step: int
    seconds: float
    counted: Sequence[Mapping[str, float]]
    found: Future[list[Seen]]


class Looker:
    """Finishes one look at a time: at once on the CPU, in a thread where a device trains on meanwhile."""

    def __init__(self, device: torch.device) -> None:
        self._pool = None if device.type == "cpu" else ThreadPoolExecutor(1, thread_name_prefix="look")

    def start(self, finish: Finish) -> Future[list[Seen]]:
        """Begin ``finish``, which reads copies on the host alone; on the CPU it has ended when this returns."""
        if self._pool is not None:
            return self._pool.submit(finish)
        done: Future[list[Seen]] = Future()
        done.set_result(finish())
        return done
