"""The batch script with which Slurm trains a run: on several machines, and again after the time limit or a failure."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from trainers.errors import ParameterError

_TIME = re.compile(r"\d+|\d+:\d\d(:\d\d)?|\d+-\d+(:\d\d){0,2}", re.ASCII)
_NAME = re.compile(r"[\w.,-]+", re.ASCII)
_BREAKING = re.compile(r'["\\\x00-\x1f\x7f]')
LEAVE_SECONDS = 120
"""Before the time limit, at which the processes are told to save and leave."""
MOST_REQUEUES = 50


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """What is asked of Slurm.

    Attributes:
        nodes: machines.
        gpus: of each machine.
        time: limit, as sbatch takes it; empty: that of the partition.
        partition: empty: the usual one.
    """

    nodes: int = 1
    gpus: int = 1
    time: str = ""
    partition: str = ""

    def check(self) -> None:
        """Refuse what sbatch would not take.

        Raises:
            ParameterError: with what was needed and what was given.
        """
        if self.nodes < 1 or self.gpus < 1:
            raise ParameterError(f"A job needs one node and one GPU or more; got {self.nodes} and {self.gpus}.")
        if self.time and _TIME.fullmatch(self.time) is None:
            raise ParameterError(f"A time as HOURS:MINUTES:SECONDS or DAYS-HOURS was needed; got {self.time!r:.40}.")
        if self.partition and _NAME.fullmatch(self.partition) is None:
            raise ParameterError(f"The name of a partition was needed; got {self.partition!r:.60}.")


def script(folder: Path, allocation: Allocation, tasks: int) -> str:
    """Write the script that trains a run folder to its end, from its last checkpoint.

    Args:
        folder: on a disk that all machines see; the first machine alone writes it.
        tasks: processes on each machine.

    Raises:
        ParameterError: the name of the folder would end a line of the script, or mean something else there.
    """
    if _BREAKING.search(str(folder)):
        raise ParameterError(
            "A folder of runs without quotation marks, backslashes and line breaks in its path was needed for Slurm; "
            f"got {str(folder.parent)!r:.200}. Name another one with --runs."
        )
    run, runs = folder.name, shlex.quote(str(folder.parent))
    asked = {
        "job-name": f"rankscope-{run[-6:]}",
        "nodes": allocation.nodes,
        "ntasks-per-node": tasks,
        "gpus-per-node": allocation.gpus,
        "time": allocation.time,
        "partition": allocation.partition,
        "output": f'"{str(folder).replace("%", "%%")}/slurm-%j.txt"',  # sbatch reads %% as %
        "open-mode": "append",
        "signal": f"TERM@{LEAVE_SECONDS}",
    }
    lines = "\n".join(f"#SBATCH --{name}={value}" for name, value in asked.items() if value)
    python, root = shlex.quote(sys.executable), shlex.quote(str(Path(__file__).resolve().parents[2]))
    return f"""#!/bin/bash
{lines}
#SBATCH --requeue

# Trains run {run}. Begun again, it goes on from the last checkpoint; finished, it does nothing.
export PYTHONPATH={root}"${{PYTHONPATH:+:$PYTHONPATH}}"
srun --kill-on-bad-exit=1 {python} -m trainers resume {run} --runs {runs}
status=$?
# interrupted: the time was up, or a process was killed; a run that failed or was stopped is left alone
if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {MOST_REQUEUES} ] && {python} -m trainers list --runs {runs} --json |
  grep -F '"id": "{run}"' | grep -qF '"phase": "interrupted"'; then
  scontrol requeue "$SLURM_JOB_ID" && exit 0
fi
exit $status
"""
