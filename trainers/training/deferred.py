"""Numbers of a device that are read without making it wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor


class HostCopy:
    """A tensor on its way to the host: the copy is queued behind the work that makes it, and nothing waits.

    Args:
        values: of any device and dtype; of the CPU, they are kept as they are.
    """

    def __init__(self, values: Tensor) -> None:
        self._values = values.detach().to("cpu", non_blocking=True)  # from CUDA, torch makes this pinned memory
        self._arrived = _mark(values.device)

    def get(self) -> Tensor:
        """The values on the CPU, once they have arrived; safe from other threads."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return self._values


def arriving(parts: Iterable[Tensor]) -> Iterator[Tensor]:
    """The parts on the host, in order: one is on its way while the next is queued, and never more."""
    before: HostCopy | None = None
    for part in parts:
        copy = HostCopy(part)
        if before is not None:
            yield before.get()
        before = copy
    if before is not None:
        yield before.get()


class Late:
    """Hands numbers to whoever asked for them, ``depth`` readings later.

    Args:
        depth: readings that may wait. 0, on the CPU: each is there at once. 1, on a GPU: the numbers of one step are
            read after the next step has been queued, so that the device has work while the host reads.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._waiting: deque[tuple[HostCopy, Callable[[list[float]], None]]] = deque()

    def read(self, values: Tensor, use: Callable[[list[float]], None]) -> None:
        """Read ``values`` (one dimension) as soon as :attr:`depth` allows, and pass them to ``use``, in order.

        What an earlier ``use`` raises comes out here, and again at every later call: its reading stays the first.
        """
        self._waiting.append((HostCopy(values), use))
        self._read_until(self.depth)

    def settle(self) -> None:
        """Read whatever still waits; what a ``use`` raises comes out here."""
        self._read_until(0)

    def _read_until(self, left: int) -> None:
        while len(self._waiting) > left:
            copy, use = self._waiting[0]
            use(copy.get().tolist())
            self._waiting.popleft()


def depth_for(device: torch.device) -> int:
    """How late to read numbers of a device; see :class:`Late`."""
    return 0 if device.type == "cpu" else 1


def _mark(device: torch.device) -> torch.cuda.Event | None:
    """An event behind everything queued on the device so far; None where nothing is queued."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return None
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event
