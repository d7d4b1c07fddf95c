"""Starts trainers as processes, several of them for one run if asked, and reports those that ended."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trainers import search_path
from trainers.devices.device import gpus
from trainers.distributed.launch import alone
from trainers.errors import RunError
from trainers.runs import RunFolder
from trainers.runs.records import PHASES
from trainers.runs.regular import open_regular

PATIENCE_SECONDS = 10.0
"""From the end of one that failed to the end of the others, which may wait for it in vain."""

APART: Mapping[str, Any] = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}
"""Of a child process that Ctrl-C in the terminal does not reach, there and on Windows: its pipe tells it."""


class ProcessGroup:
    """One process, or several that find each other as those of torchrun do.

    Args:
        command: of each.
        environment: of all.
        count: how many; each of several learns its number.
        output: file to which all print.
        detach: they get no pipe whose end tells them that this program is gone.

    Raises:
        OSError: one cannot be started.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], count: int, output: Path, *, detach: bool
    ) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._failed_at: float | None = None
        self.since = time.monotonic()
        try:
            with open_regular(output) as file:
                for role in _roles(count):
                    self._processes.append(_started(command, {**environment, **role}, file, detach))
        except OSError:
            self.kill()
            raise

    def poll(self) -> int | None:
        """Return the exit status once all have ended: that of the first one, or of another that failed.

        Of those that are left after one has failed, the ones that do not leave in time are killed.
        """
        codes = [process.poll() for process in self._processes]
        if None not in codes:
            return next(filter(None, codes), 0)
        if any(codes):
            self._failed_at = self._failed_at or time.monotonic()
            if time.monotonic() - self._failed_at > PATIENCE_SECONDS:
                self.kill()
        return None

    @property
    def died(self) -> bool:
        """Whether one of several was ended by a signal: no error of the run's own."""
        return len(self._processes) > 1 and any((process.returncode or 0) < 0 for process in self._processes)

    def ask(self) -> None:
        """Have them leave together, with a checkpoint."""
        self._processes[0].terminate()

    def kill(self) -> None:
        """End all at once."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def let_go(self, detached: bool) -> None:
        """Close the pipes, whose end tells them to save and leave; nobody waits for those that are ``detached``."""
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
            if detached:
                process.returncode = 0

    def end(self, seconds: float) -> None:
        """Wait for those that were told to end; they are killed if they take longer."""
        until = time.monotonic() + seconds
        for process in self._processes:
            end(process, max(0.0, until - time.monotonic()))


def end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a process that was told to end; it is killed if it takes longer than ``seconds``."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _started(
    command: Sequence[str], environment: Mapping[str, str], output: Any, detach: bool
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL if detach else subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        **APART,
    )


def _roles(count: int) -> list[dict[str, str]]:
    """Return what each of so many processes finds in its environment; a single one finds nothing."""
    if count == 1:
        return [{}]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        world = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1])}
    return [{**world, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]


OUTPUT = "output.txt"
"""Name of the file in the run folder that catches what a trainer prints."""
BEGIN_AGAIN, LONG_SECONDS = 3, 600.0
"""How often in a row the processes of a run are started again, and for how long they train to be no longer in a row."""
AGAIN = "one of its processes was killed; all start again from the last checkpoint"


def program_environment() -> dict[str, str]:
    """Return the environment in which a child process finds this program, wherever it was started, and works alone."""
    return {**alone(os.environ), "PYTHONPATH": search_path()}


def worker_command(folder: Path) -> list[str]:
    """Return the command that trains one run folder."""
    return [sys.executable, "-m", "trainers.worker", str(folder)]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A trainer that has ended: its run, exit status, and the last line that it printed."""

    id: str
    code: int
    last_line: str


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where a run trains: on GPUs of its own, one for each of its processes, or on a share of the cores.

    Attributes:
        gpus: as ``CUDA_VISIBLE_DEVICES`` names them; empty: it sees those that this program sees.
        threads: of each process on the CPU; None: as many as torch chooses.
        processes: that train the run together.
    """

    gpus: tuple[str, ...] = ()
    threads: int | None = None
    processes: int = 1

    @property
    def environment(self) -> dict[str, str]:
        """What a trainer gets in its environment, so that it trains there."""
        gpus = {"CUDA_VISIBLE_DEVICES": ",".join(self.gpus)} if self.gpus else {}
        return gpus if self.threads is None else gpus | {"OMP_NUM_THREADS": str(self.threads)}


class Executor(Protocol):
    """Trains runs somewhere: in processes of its own, in the queue of a page, on other machines."""

    def free(self, processes: int = 1) -> Device | None:
        """Return a device for a run that so many processes train; None: none is free now."""

    def launch(self, folder: Path, device: Device) -> None:
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
        return tuple(Device(gpus=(gpu,)) for gpu in names)
    cores = os.cpu_count() or 1
    shares = min(parallel, cores)
    return (Device(threads=max(1, cores // shares)),) * shares


@dataclass(kw_only=True)
class _Trained:
    gang: ProcessGroup
    device: Device
    begun_again: int = 0
    over: bool = False
    """Somebody has asked for its end."""


class ProcessExecutor:
    """A process per run, or several that train it together.

    A trainer holds the reading end of a pipe; when this program ends, however it ends, the pipe closes and the trainer
    saves a checkpoint and leaves. A detached trainer gets no pipe and trains on. If one of several processes is killed,
    all are started again and go on from the last checkpoint.

    Args:
        devices: for runs that train at once; whoever chooses them itself needs none.
    """

    def __init__(
        self,
        *,
        detach: bool = False,
        command: Callable[[Path], list[str]] = worker_command,
        devices: Sequence[Device] = (Device(),),
    ) -> None:
        self._detach = detach
        self._command = command
        self._devices = devices
        self._trained: dict[Path, _Trained] = {}
        self._lock = threading.Lock()

    def free(self, processes: int = 1) -> Device | None:
        """See :class:`Executor`; a run gets all its GPUs at once, or shares one share of the cores."""
        with self._lock:
            taken = [trained.device for trained in self._trained.values()]
        held = {gpu for device in taken for gpu in device.gpus}
        free = [gpu for device in self._devices for gpu in device.gpus if gpu not in held]
        if any(device.gpus for device in self._devices):
            return Device(gpus=tuple(free[:processes]), processes=processes) if len(free) >= processes else None
        if len(taken) >= len(self._devices):
            return None
        share = self._devices[len(taken)]
        threads = None if share.threads is None else max(1, share.threads // processes)
        return Device(threads=threads, processes=processes)

    def holds(self, run_id: str) -> bool:
        with self._lock:
            return any(folder.name == run_id for folder in self._trained)

    def launch(self, folder: Path, device: Device) -> None:
        """Start the trainer of ``folder``, with the device's environment added to this program's.

        Raises:
            OSError: the process cannot be started.
        """
        gang = self._start(folder, device)
        with self._lock:
            self._trained[folder] = _Trained(gang=gang, device=device)

    def reap(self) -> list[Ended]:
        """Return the trainers that ended since the last call."""
        ended = []
        with self._lock:
            for folder, trained in list(self._trained.items()):
                code = trained.gang.poll()
                if code is None or self._again(folder, trained):
                    continue
                self._forget(folder)
                ended.append(Ended(id=folder.name, code=code, last_line=last_line(folder / OUTPUT)))
        return ended

    def kill(self, run_id: str) -> None:
        """End a trainer that has not begun yet; nothing happens if it is not ours."""
        with self._lock:
            trained = [trained for folder, trained in self._trained.items() if folder.name == run_id]
            for run in trained:
                run.over = True
                run.gang.kill()

    def ask(self) -> None:
        """Have every trainer save and leave, in its own time."""
        with self._lock:
            for trained in self._trained.values():
                trained.over = True
                trained.gang.ask()

    def close(self, seconds: float = 10.0) -> None:
        """Let every trainer save and end; those that take longer are killed. Detached ones train on."""
        with self._lock:
            gangs = [trained.gang for trained in self._trained.values()]
            for folder in list(self._trained):
                self._forget(folder)
        if not self._detach:
            for gang in gangs:
                gang.end(seconds)

    def _start(self, folder: Path, device: Device) -> ProcessGroup:
        # a busy-waiting OpenMP thread takes a core from the layout and the page
        environment = {**program_environment(), "OMP_WAIT_POLICY": "PASSIVE", **device.environment}
        command, output = self._command(folder.resolve()), folder / OUTPUT
        return ProcessGroup(command, environment, device.processes, output, detach=self._detach)

    def _again(self, folder: Path, trained: _Trained) -> bool:
        """Start the processes of a run again, if one of them was killed and the run has not ended."""
        if time.monotonic() - trained.gang.since > LONG_SECONDS:
            trained.begun_again = 0
        given_up = trained.over or trained.begun_again >= BEGIN_AGAIN
        if not trained.gang.died or given_up or not _goes_on(folder):
            return False
        trained.gang.let_go(False)
        trained.begun_again += 1
        with contextlib.suppress(OSError):
            trained.gang = self._start(folder, trained.device)
            return True
        return False

    def _forget(self, folder: Path) -> None:
        self._trained.pop(folder).gang.let_go(self._detach)


def _goes_on(folder: Path) -> bool:
    """Say in a run that its processes start again; False if it has ended or cannot be written."""
    run = RunFolder(folder)
    try:
        state = run.state()
        if not run.present or not (PHASES[state.phase].moving or state.phase == "interrupted"):
            return False
        run.db.set_state(dataclasses.replace(state, phase="queued", message=AGAIN, error=None))
        run.log(AGAIN)
    except (RunError, sqlite3.Error, OSError):
        return False
    finally:
        run.db.close()
    return True


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
