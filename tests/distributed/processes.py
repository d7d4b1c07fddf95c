"""Starts the processes of a group, as torchrun would, and waits for them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(rank: int, world: int, port: int) -> dict[str, str]:
    named = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_PORT": port}
    told = {"MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **{name: str(value) for name, value in named.items()}, **told}


@contextlib.contextmanager
def started(world: int, command: Sequence[str], told: Mapping[str, str]) -> Iterator[list[subprocess.Popen[str]]]:
    """``python COMMAND`` in every process; what is left of them at the end is killed."""
    port = free_port()
    processes = [
        subprocess.Popen(
            [sys.executable, *command],
            env={**environment(rank, world, port), **told},
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for rank in range(world)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(
    world: int, *command: str, told: Mapping[str, str] = MappingProxyType({}), seconds: float = PATIENCE
) -> list[str]:
    """What the processes print; all must succeed."""
    with started(world, command, told) as processes:
        outputs = [process.communicate(timeout=seconds)[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * world, "\n\n".join(outputs)
    return outputs
