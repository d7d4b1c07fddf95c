"""The group of processes that train one run: joining it, its size, what its processes tell each other."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.distributed.launch import Launch, launched
from trainers.errors import RunError, UserError
from trainers.progress import interval

TIMEOUT_SECONDS = 180.0  # that one process waits for another within a step; set-up, pauses and scoring have no limit
TIMEOUT = "RANKSCOPE_GROUP_TIMEOUT"
"""Environment variable with another number of seconds."""
POLL_SECONDS = interval(0.05)
TELL_SECONDS = 1.0  # from when others see that a process has ended to its notice why
_LEFT, _FAILED = "left", "failed"


class LeftError(Exception):
    """The first process has left the run, and so do the others."""


def world() -> int:
    """Return how many processes train this run."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this one, from 0."""
    return dist.get_rank() if world() > 1 else 0


def share(count: int) -> slice:
    """Return which of ``count`` rows are this process's: n with n mod :func:`world` = :func:`rank`.

    Raises:
        UserError: the processes do not divide them.
    """
    if count % world():
        raise UserError(
            f"The batch is shared by {world()} processes, which must divide it; got {count} images. Change the classes "
            "of a batch or the images of a class, or start another number of processes."
        )
    return slice(rank(), None, world())


def of_share(rows: slice) -> slice:
    """Return which of this process's rows are in a range of the batch's.

    Raises:
        UserError: the processes do not divide the range.
    """
    share(rows.start)
    share(rows.stop)
    return slice(rows.start // world(), rows.stop // world())


def agreed(values: Sequence[float]) -> list[float]:
    """Return the values of the first process in every one."""
    if world() == 1:
        return list(values)
    word = torch.tensor(values, dtype=torch.float64)
    dist.broadcast(word, src=0)
    return list(word.tolist())


def highest(value: int) -> int:
    """Return the highest value of all processes."""
    if world() == 1:
        return value
    word = torch.tensor([value])
    dist.all_reduce(word, dist.ReduceOp.MAX)
    return int(word.item())


@dataclass
class Notices:
    """Notices that processes leave for each other; reading one waits for nobody and has no time limit.

    Attributes:
        launch: which process this is.
        met: how often the processes have met, see :meth:`meet`.
    """

    launch: Launch
    _store: dist.Store = field(repr=False)
    met: int = 0

    def put(self, key: str, text: str = "") -> None:
        """Leave a notice."""
        self._store.set(key, text)

    def get(self, key: str, seconds: float = 0.0) -> str | None:
        """Return a notice; None: there is none yet, nor has one come within so many seconds."""
        end = time.monotonic() + seconds
        while not self._store.check([key]):
            if time.monotonic() >= end:
                return None
            time.sleep(POLL_SECONDS)
        return self._store.get(key).decode()

    def wait(self, key: str, watch: Callable[[], None] = lambda: None) -> str:
        """Wait for a notice, calling ``watch`` meanwhile, which may raise.

        Raises:
            LeftError: the first process has left.
        """
        while (text := self.get(key)) is None:
            if self.launch.rank and self.get(_LEFT) is not None:
                raise LeftError
            watch()
            time.sleep(POLL_SECONDS)
        return text

    def ready(self, error: str = "") -> None:
        """Tell that this process is set up, or why not, and wait for the others.

        Raises:
            RunError: one of them is not, with its reason.
            LeftError: the first process has left.
        """
        self.put(f"ready/{self.launch.rank}", error)
        for other in range(self.launch.world):
            if why := self.wait(f"ready/{other}"):
                raise RunError(why)

    def meet(self) -> None:
        """Have all others wait for the first process, which is busy alone, however long that takes."""
        self.met += 1
        if self.launch.rank == 0:
            self.put(f"met/{self.met}")
        else:
            self.wait(f"met/{self.met}")

    def leave(self) -> None:
        """Tell the others that the first process leaves."""
        with contextlib.suppress(RuntimeError):  # the launcher may be gone; they see that for themselves
            self.put(_LEFT)

    @property
    def has_left(self) -> bool:
        """Whether the first process has left."""
        return self.get(_LEFT) is not None

    def leaves_soon(self) -> bool:
        """Wait a little for the first process to leave, and return whether it has."""
        return self.get(_LEFT, TELL_SECONDS) is not None

    def fail(self, error: str) -> None:
        """Tell why this process ends."""
        self.put(_FAILED, error)

    @property
    def failure(self) -> str | None:
        """Why another process ended, if it tells within a little while."""
        return self.get(_FAILED, TELL_SECONDS)


_board: Notices | None = None


def board() -> Notices | None:
    """Return the notices of the group that this process has joined; None: it trains alone."""
    return _board


def join() -> Notices | None:
    """Join the group that the environment names; None: there is none.

    Raises:
        UserError: it cannot be joined.
    """
    global _board
    launch = launched()
    if launch is None or _board is not None:
        return _board
    wait = timedelta(seconds=float(os.environ.get(TIMEOUT) or TIMEOUT_SECONDS))
    backend = "gloo"
    if torch.cuda.is_available():
        if launch.local >= torch.cuda.device_count():
            raise UserError(
                f"Process {launch.local} of this machine needs a GPU of its own; there are "
                f"{torch.cuda.device_count()}. Start as many processes as there are GPUs."
            )
        torch.cuda.set_device(launch.local)
        backend = "cpu:gloo,cuda:nccl"
    try:
        connections = _connected(launch, wait)
        dist.init_process_group(backend, store=connections[0], rank=launch.rank, world_size=launch.world, timeout=wait)
    except (RuntimeError, ValueError) as error:
        where = f"{launch.address}:{launch.port}"
        raise UserError(f"The processes of this run cannot reach each other at {where}: {error}") from error
    _board = Notices(launch, connections[1])
    return _board


def _connected(launch: Launch, wait: timedelta) -> tuple[dist.Store, dist.Store]:
    """Connect to the store of torch's own notices, and once more for ours, so that neither waits for the other.

    The first process hosts it, unless the launcher does.
    """
    hosts = launch.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != str(True)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    address, port = launch.address, launch.port
    first = dist.TCPStore(address, port, launch.world, hosts, wait, multi_tenant=True)
    second = dist.TCPStore(address, port, None, False, wait, wait_for_workers=False)
    return dist.PrefixStore(f"torch/{attempt}", first), dist.PrefixStore(f"rankscope/{attempt}", second)


def lost_another(error: BaseException) -> bool:
    """Return whether an error says that another process cannot be reached, or has not come in time."""
    return (
        world() > 1 and isinstance(error, RuntimeError) and (isinstance(error, dist.DistError) or "gloo" in str(error))
    )


def meet() -> None:
    """See :meth:`Board.meet`."""
    if _board is not None:
        _board.meet()


def shared_tensors(tensors: Mapping[str, Tensor] | None) -> dict[str, Tensor]:
    """Return the first process's tensors, on the CPU, in every one; the others give None."""
    described = [json.dumps([(name, str(t.dtype), list(t.shape)) for name, t in (tensors or {}).items()])]
    dist.broadcast_object_list(described, src=0)
    taken = {}
    for name, dtype, shape in json.loads(described[0]):
        kind = getattr(torch, dtype.removeprefix("torch."))
        value = torch.empty(shape, dtype=kind) if tensors is None else tensors[name].contiguous()
        dist.broadcast(value.reshape(-1).view(torch.uint8), src=0)
        taken[name] = value
    return taken
