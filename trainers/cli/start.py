"""The verbs that train: one per kind of run, with flags from its settings; plans of such runs; and ``resume``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from functools import partial
from pathlib import Path
from typing import Any

from trainers import plugins
from trainers.cli.flags import DEFAULT, add_flags, given, ray_flag, runs_flag
from trainers.cli.output import json_flag, print_json, progress_bar, quiet_flag
from trainers.cli.parser import RUN, RunNames, verb
from trainers.cli.work import described, result, work
from trainers.cluster.address import address
from trainers.cluster.holding import FORGET, has_record
from trainers.config import BUDGET, Config, EncoderConfig
from trainers.distributed.launch import processes
from trainers.errors import ParameterError, RunError
from trainers.kinds import KINDS, OWN, check, kind_of
from trainers.kinds.base import Kind
from trainers.kinds.checks import pinned
from trainers.plans import PLANS, Plan
from trainers.plans.config import FIRST
from trainers.runs import RunFolder
from trainers.runs.folder import check_root


def add(verbs: Any) -> None:
    """Add the verbs of the program's kinds and of plans."""
    for kind in OWN.values():
        _add(verbs, kind)
    for plan in PLANS.values():
        _add_plan(verbs, plan)


def add_further(verbs: Any) -> None:
    """Add the verbs of further kinds, once all others are there; one whose flags cannot be made has none."""
    for kind in KINDS.values():
        if kind.name in OWN:
            continue
        try:
            if kind.verb in verbs.choices:
                raise ValueError(f"the command {kind.verb!r} is the program's own")
            _equip(argparse.ArgumentParser(), kind)
        except Exception as error:  # code of somebody else may raise anything
            what = f"The kind of run {kind.name!r} has no command: its flags cannot be made ({error})."
            print(f"rankscope: {what}", file=sys.stderr)
        else:
            _add(verbs, kind)


def _add(verbs: Any, kind: Kind) -> None:
    text = kind.sentence
    verbs.add_parser(kind.verb, help=text, description=text, equip=partial(_equip, kind=kind))


def _add_plan(verbs: Any, plan: Plan) -> None:
    """Add the verb of a plan of runs of the first kind, or of the kind whose verb is its first word."""
    verbs.add_parser(plan.verb, help=plan.sentence, description=plan.sentence, equip=partial(_equip_plan, plan=plan))


def _equip_plan(parser: argparse.ArgumentParser, plan: Plan) -> None:
    _equip(parser, KINDS[FIRST], plan)
    suited = [kind for kind in KINDS.values() if plan.suits(kind)]
    if len(suited) < 2:
        return
    words = parser.add_subparsers(metavar="[KIND]", title="Runs of other kinds", prog=parser.prog)
    for kind in suited:
        try:
            _equip(argparse.ArgumentParser(), kind, plan)
        except Exception:  # code of somebody else; of the program's own kinds the tests would say
            continue
        equip = partial(_equip, kind=kind, plan=plan, inner=True)
        words.add_parser(kind.verb, help=kind.sentence, description=plan.sentence, equip=equip)


def _equip(parser: argparse.ArgumentParser, kind: Kind, plan: Plan | None = None, inner: bool = False) -> None:
    add_start_flags(parser, kind, plan)
    runs_flag(parser, inner)
    ray_flag(parser)
    json_flag(parser, inner)
    quiet_flag(parser, inner)
    parser.set_defaults(run=start, kind=kind.name, plan=plan and plan.name)


def add_start_flags(parser: argparse.ArgumentParser, kind: Kind, plan: Plan | None = None) -> None:
    """Add the flags that :func:`configuration` reads."""
    if plan is not None:
        add_flags(parser.add_argument_group(plan.title), plan.config)
        plan.add_flags(parser)
    if presets := kind.presets():
        names = ", ".join(preset.name for preset in presets)
        parser.add_argument("--preset", help=f"Settings of one experiment. [{DEFAULT}none; one of {names}]")
    kind.add_flags(parser)
    add_flags(parser, kind.config, kind.sections, kind.offers)


def configuration(arguments: argparse.Namespace, kind: Kind, plan: Plan | None = None) -> Config:
    """Make the configuration that the flags give; a number of steps or epochs replaces the default minutes."""
    values = given(arguments, kind.config)
    if "minutes" not in values and any(values.get(name) is not None for name in BUDGET):
        values["minutes"] = None
    run = kind.configured(values, vars(arguments))
    return run if plan is None else plan.config(run=run, **given(arguments, plan.config))


def start(arguments: argparse.Namespace) -> int:
    """Check, create and train a run."""
    kind = KINDS[arguments.kind]
    plan = PLANS.get(arguments.plan)
    config: Any = configuration(arguments, kind, plan)
    folder = created(config, arguments.runs)
    if not arguments.json:
        print(f"run {folder.id} in {folder.path}")
        if plan is not None:
            print(f"to train: {plan.trained(config)}")
    return work(folder, new=True, as_json=arguments.json, quiet=arguments.quiet)


def created(config: Config, root: Path) -> RunFolder:
    """Check and rehearse a configuration and make the folder of its run; what is to be said of it goes to stderr.

    Raises:
        UserError: the first thing that is wrong, with what to do.
    """
    if isinstance(config.single, EncoderConfig):
        first, why = kind_of(config.single).begins_with(config.single.data)
        if why and config.single.encoder == first["encoder"]:
            print(f"rankscope: {why}", file=sys.stderr)
    started = kind_of(config)
    started.check_processes(processes())
    if config.single.processes > 1 and processes() > 1:
        raise ParameterError(f"{processes()} processes were started already. Leave --processes out, or start one.")
    check(config)
    check_root(root)
    config = pinned(config)
    with progress_bar() as tell:
        said = started.rehearse(config, root, tell)
    for sentence in (*started.advice(config), *said):
        print(f"rankscope: {sentence}", file=sys.stderr)
    return RunFolder.create(root, config)


def _equip_resume(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", action=RunNames, help=RUN)
    more = "Of a sweep that has ended: train it with so many more seeds."
    parser.add_argument("--more-seeds", type=int, default=0, metavar="N", help=more)
    shared = "Train it in so many processes from now on, on a GPU each, instead of as many as before."
    parser.add_argument("--processes", type=int, metavar="N", help=shared)
    gone = "Train it here though a Ray cluster was given it and gives no answer: that cluster is gone."
    parser.add_argument(FORGET, action="store_true", dest="forget", help=gone)
    runs_flag(parser)
    ray_flag(parser)
    json_flag(parser)
    quiet_flag(parser)


@verb("resume", _equip_resume)
def resume(arguments: argparse.Namespace) -> int:
    """Continue a run from its last checkpoint; of a finished plan those of its runs that failed or were stopped."""
    folder = RunFolder.open(arguments.runs, arguments.id)
    folder.config.check_whole()
    kind_of(folder.config).check_processes(processes())
    if arguments.processes is not None:
        from trainers.devices.device import check_processes

        config = folder.config.changed(processes=arguments.processes)
        check(config)
        check_processes(arguments.processes, config.single.device)
        folder.set_processes(arguments.processes)
    from trainers.plans.children import add_seeds, lacks

    if arguments.more_seeds or folder.db.state().phase != "finished" or lacks(folder):
        plugins.check(folder.plugins)
    if arguments.more_seeds:
        add_seeds(folder, arguments.more_seeds)
    if arguments.forget:
        from trainers.cluster.holding import release
        from trainers.plans.children import children_of

        for run in (folder, *(children_of(folder) if kind_of(folder.config).plans else ())):
            release(run)
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
    return work(folder, as_json=arguments.json, quiet=arguments.quiet)


def _is_kept(folder: RunFolder) -> bool:
    """Return whether a cluster may keep what a finished run has become; one that gives no answer may keep it."""
    if not has_record(folder) or address():
        return has_record(folder)
    from trainers.cluster.holding import joined

    with contextlib.suppress(RunError):
        return joined(folder)
    return False
