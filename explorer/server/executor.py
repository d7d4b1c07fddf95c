"""Starts trainers as processes of their own and reports those that ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trainers.runs.regular import open_regular

OUTPUT = "output.txt"
"""Name of the file in the run folder that catches what a trainer prints."""

_REPOSITORY = Path(__file__).resolve().parents[2]


def worker_command(folder: Path) -> list[str]:
    """The trainer of one run folder."""
    return [sys.executable, "-m", "trainers.worker", str(folder)]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A trainer that has ended: its run, exit status, and the last line that it printed."""

    id: str
    code: int
    last_line: str


class ProcessExecutor:
    """One process per run.

    A trainer holds the reading end of a pipe; when this program ends, however it ends, the pipe closes and the trainer
    saves a checkpoint and leaves. A detached trainer gets no pipe and trains on.
    """

    def __init__(self, *, detach: bool = False, command: Callable[[Path], list[str]] = worker_command) -> None:
        self._detach = detach
        self._command = command
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._folders: dict[str, Path] = {}
        self._lock = threading.Lock()

    def launch(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Start the trainer of ``folder``, with ``environment`` added to this program's.

        Raises:
            OSError: the process cannot be started.
        """
        # a busy-waiting OpenMP thread takes a core from the layout and the page
        env = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", **environment}
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_REPOSITORY), env.get("PYTHONPATH", "")]))
        with open_regular(folder / OUTPUT) as output:
            process = subprocess.Popen(
                self._command(folder.resolve()),
                stdin=subprocess.DEVNULL if self._detach else subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,  # Ctrl-C in the terminal reaches the page alone; the pipe tells the trainer
            )
        with self._lock:
            self._processes[folder.name] = process
            self._folders[folder.name] = folder

    def reap(self) -> list[Ended]:
        """The trainers that ended since the last call."""
        ended = []
        with self._lock:
            for run_id, process in list(self._processes.items()):
                code = process.poll()
                if code is not None:
                    self._forget(run_id)
                    ended.append(Ended(id=run_id, code=code, last_line=last_line(self._folders.pop(run_id) / OUTPUT)))
        return ended

    def kill(self, run_id: str) -> None:
        """End a trainer that has not begun yet; nothing happens if it is not ours."""
        with self._lock:
            process = self._processes.get(run_id)
        if process is not None:
            process.kill()
            process.wait()

    def close(self, seconds: float = 10.0) -> None:
        """Let every trainer save and end; those that take longer are killed. Detached ones train on."""
        with self._lock:
            processes = dict(self._processes)
            for run_id, process in processes.items():
                self._forget(run_id)
                if self._detach:
                    process.returncode = 0  # detached: this process no longer waits for it
        for process in processes.values():
            if not self._detach:
                try:
                    process.wait(seconds)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _forget(self, run_id: str) -> None:
        process = self._processes.pop(run_id)
        if process.stdin is not None:
            process.stdin.close()


def last_line(path: Path) -> str:
    """The last line of a text file that is not blank; empty if there is none."""
    try:
        with open_regular(path, os.O_RDONLY) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
