"""Places runs on a Ray cluster: the executor of :mod:`trainers.cluster.proxy`."""

from __future__ import annotations

import sys
from pathlib import Path

from trainers.cluster.holding import slots
from trainers.training.executor import Device, ProcessExecutor


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
