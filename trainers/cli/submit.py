"""The verb ``submit``: hands a run to a cluster."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from trainers.cli.output import json_flag, print_json
from trainers.cli.start import configuration
from trainers.distributed.slurm import Allocation, script
from trainers.errors import ParameterError
from trainers.kinds import KINDS, check, kind_of
from trainers.kinds.checks import pinned
from trainers.plans import PLANS
from trainers.runs import RunFolder

HANDED = "handed to Slurm: it trains when its job begins"


def add(verbs: Any) -> None:
    """Add the verb."""
    text = "Make a run and the batch script with which Slurm trains it, on several machines if asked for."
    verbs.add_parser("submit", help=text, description=text, equip=_equip)


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--slurm", action="store_true", required=True, help="For Slurm: a script for sbatch.")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="Machines.")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="GPUs of each machine.")
    parser.add_argument(
        "--time", default="", help="Limit of the job, e.g. 12:00:00; at its end the job is queued again."
    )
    parser.add_argument("--partition", default="", help="Partition of the cluster.")
    parser.add_argument("--out", type=Path, metavar="FILE", help="Write the script there instead of printing it.")
    json_flag(parser)
    told = "What to train: a command that starts a run, with its flags, last."
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help=told)
    parser.set_defaults(run=submit)


def submit(arguments: argparse.Namespace) -> int:
    """Check everything, make the run, and print or write the script."""
    allocation = Allocation(
        nodes=arguments.nodes, gpus=arguments.gpus, time=arguments.time, partition=arguments.partition
    )
    allocation.check()
    told = arguments.parse(arguments.words or ["--help"])
    if not hasattr(told, "plan"):
        raise ParameterError(f"A command that starts a run was needed, such as train; got {arguments.words[0]!r:.40}.")
    plan = PLANS.get(told.plan)
    config = configuration(told, KINDS[told.kind], plan)
    if config.single.processes > 1:
        raise ParameterError("The processes are those of --nodes and --gpus here. Leave --processes out.")
    tasks = allocation.gpus if plan is None else 1  # the runs of a plan are trained beside each other
    kind_of(config).check_processes(allocation.nodes * tasks)
    check(config if plan else config.changed(processes=allocation.nodes * tasks))
    folder = RunFolder.create(told.runs.resolve(), pinned(config))
    state = folder.db.state()
    folder.db.set_state(dataclasses.replace(state, phase="stopped", message=HANDED))
    folder.db.close()
    written = script(folder.path, allocation, tasks)
    print(f"run {folder.id} in {folder.path}", file=sys.stderr)
    if arguments.out is not None:
        arguments.out.write_text(written)
    if arguments.json:
        out = None if arguments.out is None else str(arguments.out)
        print_json({"id": folder.id, "folder": str(folder.path), "script": written, "file": out})
    else:
        print(written if arguments.out is None else f"sbatch {arguments.out}\n", end="")
    return 0
