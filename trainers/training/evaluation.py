"""Evaluations of the arms during training: begun between two steps, finished from copies on the host.

On a GPU the device trains on while an evaluation is finished: copies are queued, and read one step later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor


class HostCopy:
    """An asynchronous copy of a tensor to the host, queued behind the work that computes it.

    Neither the host nor the device waits until :meth:`get`.

    Args:
        values: of any device and dtype; those on the CPU are kept without a copy.
    """

    def __init__(self, values: Tensor) -> None:
        self._values = values.detach().to("cpu", non_blocking=True)  # from CUDA, torch makes this pinned memory
        self._arrived = _mark(values.device)

    def get(self) -> Tensor:
        """Wait for the copy and return the values on the CPU; safe from other threads."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return self._values


def arriving(parts: Iterable[Tensor]) -> Iterator[Tensor]:
    """Copy the parts to the host, in order; at most one copy is under way while the next part is computed."""
    before: HostCopy | None = None
    for part in parts:
        copy = HostCopy(part)
        if before is not None:
            yield before.get()
        before = copy
    if before is not None:
        yield before.get()


class Late:
    """Reads values from a device, and passes them to callbacks, ``depth`` readings later.

    Args:
        depth: readings that may be pending. 0, on the CPU: each is read at once. 1, on a GPU: the values of one step
            are read after the next step has been queued, so that the device has work while the host reads.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._waiting: deque[tuple[HostCopy, Callable[[list[float]], None]]] = deque()

    def read(self, values: Tensor, use: Callable[[list[float]], None]) -> None:
        """Read ``values`` (one dimension) as soon as :attr:`depth` allows, and pass them to ``use``, in order.

        An error of an earlier ``use`` is raised here, and again at every later call: its reading stays the first.
        """
        self._waiting.append((HostCopy(values), use))
        self._read_until(self.depth)

    def settle(self) -> None:
        """Read everything that is pending; an error of a ``use`` is raised here."""
        self._read_until(0)

    def _read_until(self, left: int) -> None:
        while len(self._waiting) > left:
            copy, use = self._waiting[0]
            use(copy.get().tolist())
            self._waiting.popleft()


def depth_for(device: torch.device) -> int:
    """Return the ``depth`` of :class:`Late` for a device."""
    return 0 if device.type == "cpu" else 1


def _mark(device: torch.device) -> torch.cuda.Event | None:
    """Record an event behind everything queued on the device so far; None where nothing is queued."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return None
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event


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
