"""The processes of this machine that train one run together: started, looked at and ended as one."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainers.runs.regular import open_regular

PATIENCE_SECONDS = 10.0
"""From the end of one that failed to the end of the others, which may wait for it in vain."""

APART: Mapping[str, Any] = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}
"""Of a child process that Ctrl-C in the terminal does not reach, there and on Windows: its pipe tells it."""


class Gang:
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
