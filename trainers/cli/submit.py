"""The verb ``submit``: hands a run to what trains it elsewhere."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

from trainers.cli.destinations import Destination
from trainers.cli.output import json_flag, print_json
from trainers.cli.start import configuration
from trainers.cli.submit_jobs import Jobs
from trainers.cli.submit_slurm import Slurm
from trainers.cli.verb import verb
from trainers.cluster.record import has_record
from trainers.config import Config
from trainers.errors import ParameterError, RunError
from trainers.kinds import KINDS
from trainers.kinds.checks import pinned
from trainers.plans import PLANS
from trainers.runs import RunFolder

DESTINATIONS: tuple[Destination, ...] = (Slurm(), Jobs())


def _equip(parser: argparse.ArgumentParser) -> None:
    to = parser.add_mutually_exclusive_group(required=True)
    for destination in DESTINATIONS:
        to.add_argument(f"--{destination.name}", action="store_true", help=destination.help)
    for destination in DESTINATIONS:
        destination.add_flags(parser.add_argument_group(destination.title))
    json_flag(parser)
    sentence = "What to train: a command that starts a run, with its flags, or `resume RUN`; last."
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help=sentence)


@verb("submit", _equip)
def submit(arguments: argparse.Namespace) -> int:
    """Make a run and hand it to Slurm, on several machines if asked for, or to Hugging Face Jobs."""
    destination = next(each for each in DESTINATIONS if getattr(arguments, each.name))
    submission = destination.submission(_given(arguments, destination))
    command = arguments.parse(arguments.words or ["--help"])
    old = _resumed(command)
    config = _configuration(command, arguments.words[0]) if old is None else old.config
    submission.check(config)
    if old is not None:
        _check_unfinished(old := submission.refresh(old))
    submission.agree(config)
    folder = RunFolder.create(command.runs.resolve(), pinned(config)) if old is None else old
    if old is None:  # before a page with the same folder sees a run that waits for its turn
        _set_handed(folder, destination.message)
    print(f"run {folder.id} in {folder.path}", file=sys.stderr)
    handed = submission.hand(folder, new=old is None)
    _set_handed(folder, destination.message)
    folder.db.close()
    if arguments.json:
        print_json({"id": folder.id, "folder": str(folder.path), **handed.values})
    else:
        print(handed.text, end="")
    return 0


def _given(arguments: argparse.Namespace, destination: Destination) -> dict[str, Any]:
    """Return the flags of a destination that were given.

    Raises:
        ParameterError: some are given that are another's.
    """
    given: dict[str, dict[str, Any]] = {}
    for offered in DESTINATIONS:
        parser = argparse.ArgumentParser(add_help=False)
        offered.add_flags(parser.add_argument_group())
        names = [action.dest for action in parser._actions]
        given[offered.name] = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
        if offered is not destination and given[offered.name]:
            flag = next(iter(given[offered.name])).replace("_", "-")
            raise ParameterError(
                f"--{flag} is a flag of --{offered.name}, and not of --{destination.name}. Leave it out."
            )
    return given[destination.name]


def _configuration(command: argparse.Namespace, word: str) -> Config:
    if not hasattr(command, "plan"):
        raise ParameterError(f"A command that starts a run was needed, such as train; got {word!r:.40}.")
    return configuration(command, KINDS[command.kind], PLANS.get(command.plan))


def _resumed(command: argparse.Namespace) -> RunFolder | None:
    """Return the run that ``resume RUN`` names; None: the command is another one."""
    if command.command != "resume":
        return None
    if command.more_seeds or command.processes is not None or command.forget:
        raise ParameterError("Of a run that is handed over, `resume` takes its id and --runs. Leave the rest out.")
    folder = RunFolder.open(command.runs.resolve(), command.id)
    if folder.is_alive():
        raise RunError(f"The run {folder.id} is being trained on this machine; stop it before handing it over.")
    _check_unfinished(folder)
    if has_record(folder):
        from trainers.cluster.holding import cluster_with

        if address := cluster_with(folder):
            raise RunError(
                f"The Ray cluster at {address} trains run {folder.id}; stop it there before handing it over."
            )
    return folder


def _check_unfinished(folder: RunFolder) -> None:
    if folder.state().phase == "finished":
        raise RunError(f"Run {folder.id} is finished; there is nothing to resume.")


def _set_handed(folder: RunFolder, message: str) -> None:
    folder.db.set_state(dataclasses.replace(folder.state(), phase="stopped", message=message, error=None))
