"""Slurm as a destination: a batch script for a folder that all machines see."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from trainers.cli.destinations import Handed
from trainers.cli.flags import DEFAULT
from trainers.cli.output import write_file
from trainers.config import Config
from trainers.distributed.slurm import Allocation, script
from trainers.errors import ParameterError, UserError
from trainers.kinds import check, kind_of
from trainers.runs import RunFolder


class SlurmSubmission:
    """A script for sbatch, printed or written to ``out``."""

    def __init__(self, allocation: Allocation, out: Path | None) -> None:
        self._allocation, self._out = allocation, out

    def check(self, config: Config) -> None:
        """Refuse settings that so many processes cannot train."""
        if config.single.processes > 1:
            raise ParameterError("The processes are those of --nodes and --gpus here. Leave --processes out.")
        kind, processes = kind_of(config), self._allocation.nodes * self._tasks(config)
        kind.check_processes(processes)
        check(config if kind.plans else config.changed(processes=processes))

    def agree(self, config: Config) -> None:
        """Ask nobody: it is sbatch that begins something."""

    def refresh(self, folder: RunFolder) -> RunFolder:
        """Return the run: the machines train in this folder."""
        return folder

    def hand(self, folder: RunFolder, *, new: bool) -> Handed:
        """Write the script."""
        try:
            return self._written(folder)
        except UserError:
            if new:
                folder.delete()
            raise

    def _written(self, folder: RunFolder) -> Handed:
        written = script(folder.path, self._allocation, self._tasks(folder.config))
        values = {"script": written, "file": None if self._out is None else str(self._out)}
        if self._out is None:
            return Handed(text=written, values=values)
        write_file(self._out, os.fsencode(written))
        return Handed(text=f"sbatch {self._out}\n", values=values)

    def _tasks(self, config: Config) -> int:
        """Return how many processes each machine has; the runs of a plan are trained beside each other by one."""
        return 1 if kind_of(config).plans else self._allocation.gpus


class Slurm:
    """The cluster's queue."""

    name = "slurm"
    title = "Slurm"
    help = "For Slurm: a script for sbatch."
    message = "handed to Slurm: it trains when its job begins"

    def add_flags(self, group: argparse._ArgumentGroup) -> None:
        """Add what is asked of sbatch."""
        absent: Any = argparse.SUPPRESS
        group.add_argument("--nodes", type=int, default=absent, metavar="N", help=f"Machines. [{DEFAULT}1]")
        group.add_argument("--gpus", type=int, default=absent, metavar="N", help=f"GPUs of each machine. [{DEFAULT}1]")
        limit = "Limit of the job, e.g. 12:00:00; at its end the job is queued again."
        group.add_argument("--time", default=absent, help=f"{limit} [{DEFAULT}the partition's]")
        group.add_argument("--partition", default=absent, help=f"Partition of the cluster. [{DEFAULT}the usual one]")
        out = "Write the script there instead of printing it."
        group.add_argument("--out", type=Path, default=absent, metavar="FILE", help=f"{out} [{DEFAULT}none]")

    def submission(self, given: dict[str, Any]) -> SlurmSubmission:
        """Read the flags."""
        allocation = Allocation(**{name: value for name, value in given.items() if name != "out"})
        allocation.check()
        return SlurmSubmission(allocation, given.get("out"))
