"""The verbs that start something: a run, one verb per kind, with flags from its settings; or a plan of such runs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from trainers.cli.flags import add_flags, given, runs_flag
from trainers.cli.progress import progress_bar
from trainers.cli.work import work
from trainers.config import BUDGET, Config, EncoderConfig
from trainers.kinds import KINDS, OWN, check, kind_of
from trainers.kinds.base import Kind
from trainers.plans import PLANS, Plan
from trainers.plans.config import FIRST
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verbs of the program's kinds and of plans; old verbs still work, and their help names the new one."""
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
            if taken := {kind.verb, *kind.old_verbs} & set(verbs.choices):
                raise ValueError(f"the command {sorted(taken)[0]!r} is the program's own")
            _equip(argparse.ArgumentParser(), kind)
        except Exception as error:  # code of somebody else may raise anything
            what = f"The kind of run {kind.name!r} has no command: its flags cannot be made ({error})."
            print(f"rankscope: {what}", file=sys.stderr)
        else:
            _add(verbs, kind)


def _add(verbs: Any, kind: Kind) -> None:
    for verb in (kind.verb, *kind.old_verbs):
        text = kind.sentence if verb == kind.verb else f"Now called {kind.verb}."
        parser = verbs.add_parser(verb, help=text, description=kind.sentence)
        _equip(parser, kind)
        parser.set_defaults(verb=verb)


def _add_plan(verbs: Any, plan: Plan) -> None:
    """Add the verb of a plan of runs of the first kind, or of the kind whose verb is its first word."""
    parser = verbs.add_parser(plan.verb, help=plan.sentence, description=plan.sentence)
    _equip(parser, KINDS[FIRST], plan)
    suited = [kind for kind in KINDS.values() if plan.suits(kind)]
    if len(suited) < 2:
        return
    words = parser.add_subparsers(metavar="KIND", title="runs of other kinds", help="the command of their kind")
    for kind in suited:
        try:
            _equip(argparse.ArgumentParser(), kind, plan)
        except Exception:  # code of somebody else; of the program's own kinds the tests would say
            continue
        word = words.add_parser(kind.verb, help=kind.sentence, description=plan.sentence)
        _equip(word, kind, plan, inner=True)


def _equip(parser: argparse.ArgumentParser, kind: Kind, plan: Plan | None = None, inner: bool = False) -> None:
    add_start_flags(parser, kind, plan)
    runs_flag(parser, inner)
    parser.set_defaults(run=start, kind=kind.name, plan=plan and plan.name, verb=kind.verb)


def add_start_flags(parser: argparse.ArgumentParser, kind: Kind, plan: Plan | None = None) -> None:
    """Add the flags that :func:`configuration` reads."""
    add_flags(parser, kind.config)
    if presets := kind.presets():
        names = ", ".join(preset.name for preset in presets)
        parser.add_argument("--preset", help=f"settings of one experiment: {names}")
    kind.add_flags(parser)
    if plan is not None:
        add_flags(parser, plan.config)
        plan.add_flags(parser)


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
    if arguments.verb != kind.verb:
        print(
            f"rankscope: `{arguments.verb}` is now called `{kind.verb}`; the old name goes with the next release.",
            file=sys.stderr,
        )
    config = configuration(arguments, kind, PLANS.get(arguments.plan))
    if isinstance(config.single, EncoderConfig):
        first, why = kind.begins_with(config.single.data)
        if first and config.single.encoder == first["encoder"]:
            print(f"rankscope: {why}", file=sys.stderr)
    started = kind_of(config)
    check(config)
    with progress_bar() as tell:
        said = started.rehearse(config, arguments.runs, tell)
    for sentence in (*started.advice(config), *said):
        print(f"rankscope: {sentence}", file=sys.stderr)
    folder = RunFolder.create(arguments.runs, config)
    print(f"run {folder.id} in {folder.path}")
    return work(folder, new=True)
