"""The verb ``resume``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses

from trainers.cli.flags import ray_flag, runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.cli.verb import verb
from trainers.cli.work import described, result, work
from trainers.cluster.address import address
from trainers.cluster.record import FORGET, has_record
from trainers.distributed.launch import processes
from trainers.errors import RunError
from trainers.kinds import check, kind_of
from trainers.runs import RunFolder


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run.")
    more = "Of a sweep that has ended: train it with so many more seeds."
    parser.add_argument("--more-seeds", type=int, default=0, metavar="N", help=more)
    shared = "Train it in so many processes from now on, on a GPU each, instead of as many as before."
    parser.add_argument("--processes", type=int, metavar="N", help=shared)
    gone = "Train it here though a Ray cluster was given it and gives no answer: that cluster is gone."
    parser.add_argument(FORGET, action="store_true", dest="forget", help=gone)
    runs_flag(parser)
    ray_flag(parser)
    json_flag(parser)


@verb("resume", _equip)
def resume(arguments: argparse.Namespace) -> int:
    """Continue a run from its last checkpoint; of a finished plan those of its runs that failed or were stopped."""
    folder = RunFolder.open(arguments.runs, arguments.id)
    kind_of(folder.config).check_processes(processes())
    if arguments.processes is not None:
        from trainers.devices.gpus import check_processes

        config = folder.config.changed(processes=arguments.processes)
        check(config)
        check_processes(arguments.processes, config.single.device)
        folder.set_processes(arguments.processes)
    if arguments.more_seeds:
        from trainers.plans.more_seeds import add_seeds

        add_seeds(folder, arguments.more_seeds)
    if arguments.forget:
        from trainers.cluster.holding import release
        from trainers.plans.children import children_of

        for run in (folder, *(children_of(folder) if kind_of(folder.config).plans else ())):
            release(run)
    from trainers.plans.lacking import lacks

    if lost := lacks(folder):
        if not arguments.json:
            print(f"{lost}; trained on now")
        folder.db.set_state(dataclasses.replace(folder.state(), phase="interrupted", message="to be trained on"))
    if folder.db.state().phase == "finished" and not _is_kept(folder):
        if arguments.json:
            print_json(described(folder))
            return 0
        print(f"Run {folder.id} is finished; there is nothing to resume.\n{result(folder)}")
        return 0
    return work(folder, as_json=arguments.json)


def _is_kept(folder: RunFolder) -> bool:
    """Return whether a cluster may keep what a finished run has become; one that gives no answer may keep it."""
    if not has_record(folder) or address():
        return has_record(folder)
    from trainers.cluster.holding import joined

    with contextlib.suppress(RunError):
        return joined(folder)
    return False
