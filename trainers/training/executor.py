"""Starts trainers as processes of their own and reports those that ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trainers.devices.gpus import gpus
from trainers.distributed.launch import alone
from trainers.runs.regular import open_regular

OUTPUT = "output.txt"
"""Name of the file in the run folder that catches what a trainer prints."""

APART: Mapping[str, Any] = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}
"""Of a child process that Ctrl-C in the terminal does not reach, there and on Windows: its pipe tells it."""


def program_environment() -> dict[str, str]:
    """Return the environment in which a child process finds this program, wherever it was started, and works alone."""
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    return {**alone(os.environ), "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def worker_command(folder: Path) -> list[str]:
    """Return the command that trains one run folder."""
    return [sys.executable, "-m", "trainers.worker", str(folder)]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A trainer that has ended: its run, exit status, and the last line that it printed."""

    id: str
    code: int
    last_line: str


Device = Mapping[str, str]
"""What a run gets in its environment so that it trains there: a GPU of its own, or a share of the cores."""


class Executor(Protocol):
    """Trains runs somewhere: in processes of its own, in the queue of a page, on other machines."""

    def devices(self) -> Sequence[Device]:
        """Return the free devices: a run may be launched on each."""

    def launch(self, folder: Path, environment: Device) -> None:
        """Have the run ``folder`` trained on a device."""

    def holds(self, run_id: str) -> bool:
        """Return whether a run was launched and has not ended."""

    def reap(self) -> Sequence[Ended]:
        """Return the trainers that ended since the last call, as far as they are this one's."""

    def kill(self, run_id: str) -> None:
        """Take back a run that has not begun yet; nothing happens to others."""

    def close(self) -> None:
        """Let every trainer save and end."""


def local_devices(device: str, parallel: int) -> tuple[Device, ...]:
    """Return this machine's devices for runs that train at once: its GPUs, or ``parallel`` shares of its cores."""
    if device == "auto" and (names := gpus()):
        return tuple({"CUDA_VISIBLE_DEVICES": gpu} for gpu in names)
    cores = os.cpu_count() or 1
    shares = min(parallel, cores)
    return ({"OMP_NUM_THREADS": str(max(1, cores // shares))},) * shares


class ProcessExecutor:
    """One process per run.

    A trainer holds the reading end of a pipe; when this program ends, however it ends, the pipe closes and the trainer
    saves a checkpoint and leaves. A detached trainer gets no pipe and trains on.

    Args:
        devices: for runs that train at once; whoever chooses them itself needs none.
    """

    def __init__(
        self,
        *,
        detach: bool = False,
        command: Callable[[Path], list[str]] = worker_command,
        devices: Sequence[Device] = ({},),
    ) -> None:
        self._detach = detach
        self._command = command
        self._devices = devices
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}
        self._taken: dict[Path, Device] = {}
        self._lock = threading.Lock()

    def devices(self) -> list[Device]:
        """See :class:`Executor`."""
        free = list(self._devices)
        with self._lock:
            for device in self._taken.values():
                if device in free:
                    free.remove(device)
        return free

    def holds(self, run_id: str) -> bool:
        """See :class:`Executor`."""
        with self._lock:
            return any(folder.name == run_id for folder in self._processes)

    def launch(self, folder: Path, environment: Device) -> None:
        """Start the trainer of ``folder``, with ``environment`` added to this program's.

        Raises:
            OSError: the process cannot be started.
        """
        # a busy-waiting OpenMP thread takes a core from the layout and the page
        env = {**program_environment(), "OMP_WAIT_POLICY": "PASSIVE", **environment}
        with open_regular(folder / OUTPUT) as output:
            process = subprocess.Popen(
                self._command(folder.resolve()),
                stdin=subprocess.DEVNULL if self._detach else subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                **APART,
            )
        with self._lock:
            self._processes[folder], self._taken[folder] = process, environment

    def reap(self) -> list[Ended]:
        """Return the trainers that ended since the last call."""
        ended = []
        with self._lock:
            for folder, process in list(self._processes.items()):
                code = process.poll()
                if code is not None:
                    self._forget(folder)
                    ended.append(Ended(id=folder.name, code=code, last_line=last_line(folder / OUTPUT)))
        return ended

    def kill(self, run_id: str) -> None:
        """End a trainer that has not begun yet; nothing happens if it is not ours."""
        with self._lock:
            processes = [process for folder, process in self._processes.items() if folder.name == run_id]
        for process in processes:
            process.kill()
            process.wait()

    def close(self, seconds: float = 10.0) -> None:
        """Let every trainer save and end; those that take longer are killed. Detached ones train on."""
        with self._lock:
            processes = dict(self._processes)
            for folder, process in processes.items():
                self._forget(folder)
                if self._detach:
                    process.returncode = 0  # detached: this process no longer waits for it
        for process in processes.values():
            if not self._detach:
                end(process, seconds)

    def _forget(self, folder: Path) -> None:
        process = self._processes.pop(folder)
        del self._taken[folder]
        if process.stdin is not None:
            process.stdin.close()


def end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a process that was told to end; it is killed if it takes longer than ``seconds``."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(path: Path) -> str:
    """Return the last line of a text file that is not blank; empty if there is none."""
    try:
        with open_regular(path, os.O_RDONLY) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
