"""The verbs that start a run: one per kind of run, its flags from its settings."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from trainers.cli.flags import add_flags, given, runs_flag
from trainers.cli.progress import progress_bar
from trainers.cli.work import work
from trainers.config import BUDGET, RunConfig
from trainers.kinds import KINDS, OWN, check
from trainers.kinds.base import Kind
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verbs of the program's kinds; old verbs still work, and their help names the new one."""
    for kind in OWN.values():
        _add(verbs, kind)


def add_further(verbs: Any) -> None:
    """Add the verbs of further kinds, once all others are there; one whose flags cannot be made has none."""
    for kind in KINDS.values():
        if kind.name in OWN:
            continue
        try:
            if taken := {kind.verb, *kind.old_verbs} & set(verbs.choices):
                raise ValueError(f"the command {sorted(taken)[0]!r} is the program's own")
            trial = argparse.ArgumentParser()
            add_kind_flags(trial, kind)
            runs_flag(trial)
        except Exception as error:  # code of somebody else may raise anything
            what = f"The kind of run {kind.name!r} has no command: its flags cannot be made ({error})."
            print(f"rankscope: {what}", file=sys.stderr)
        else:
            _add(verbs, kind)


def _add(verbs: Any, kind: Kind) -> None:
    for verb in (kind.verb, *kind.old_verbs):
        text = kind.sentence if verb == kind.verb else f"Now called {kind.verb}."
        parser = verbs.add_parser(verb, help=text, description=kind.sentence)
        add_kind_flags(parser, kind)
        runs_flag(parser)
        parser.set_defaults(run=start, kind=kind.name, verb=verb)


def add_kind_flags(parser: argparse.ArgumentParser, kind: Kind) -> None:
    """The flags that :func:`configuration` reads."""
    add_flags(parser, kind.config)
    if presets := kind.presets():
        names = ", ".join(preset.name for preset in presets)
        parser.add_argument("--preset", help=f"settings of one experiment: {names}")
    kind.add_flags(parser)


def configuration(arguments: argparse.Namespace, kind: Kind) -> RunConfig:
    """The configuration given by the flags; a number of steps or epochs replaces the default minutes."""
    values = given(arguments, kind.config)
    if "minutes" not in values and any(values.get(name) is not None for name in BUDGET):
        values["minutes"] = None
    return kind.configured(values, vars(arguments))


def start(arguments: argparse.Namespace) -> int:
    """Check, create and train a run."""
    kind = KINDS[arguments.kind]
    if arguments.verb != kind.verb:
        print(
            f"rankscope: `{arguments.verb}` is now called `{kind.verb}`; the old name goes with the next release.",
            file=sys.stderr,
        )
    config = configuration(arguments, kind)
    check(config)
    with progress_bar() as tell:
        said = kind.rehearse(config, arguments.runs, tell)
    for sentence in (*kind.advice(config), *said):
        print(f"rankscope: {sentence}", file=sys.stderr)
    folder = RunFolder.create(arguments.runs, config)
    print(f"run {folder.id} in {folder.path}")
    return work(folder, new=True)
