"""Places runs on a Ray cluster: the executor of :mod:`trainers.cluster.proxy`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from trainers.errors import UserError
from trainers.training.executor import Device, ProcessExecutor, program_environment


class ClusterExecutor(ProcessExecutor):
    """Starts a proxy for each run. Proxies outlive this program, as the runs on the cluster do.

    Args:
        runs: that train at once, at most; None: as many as the cluster has GPUs, or processors where it has none.

    Attributes:
        slots: that number.
    """

    def __init__(self, runs: int | None = None) -> None:
        super().__init__(detach=True, command=proxy_command)
        self.slots = slots() if runs is None else runs

    def free(self, processes: int = 1) -> Device | None:
        """Return a device for a run of so many processes, while there are slots; Ray places it."""
        with self._lock:
            held = sum(trained.device.processes for trained in self._trained.values())
        return Device(processes=processes) if not held or held + processes <= self.slots else None

    def kill(self, run_id: str) -> None:
        """Take back a run that has not begun yet, and its place on the cluster."""
        with self._lock:
            for folder, trained in self._trained.items():
                if folder.name == run_id:
                    trained.over = True
                    trained.gang.ask()


def proxy_command(folder: Path) -> list[str]:
    """Return the command that has one run trained on the cluster."""
    return [sys.executable, "-m", "trainers.cluster.proxy", str(folder)]


def slots() -> int:
    """Ask the cluster how many runs can train at once.

    Raises:
        UserError: it cannot be joined.
    """
    command = [sys.executable, "-m", "trainers.cluster.slots"]
    done = subprocess.run(command, capture_output=True, text=True, env=program_environment())
    if done.returncode:
        raise UserError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "The cluster gave no answer.")
    return int(json.loads(done.stdout.splitlines()[-1]))
