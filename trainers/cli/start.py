"""The verbs that start a run: one per kind of run, its flags from its settings."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from trainers.cli.flags import add_flags, given, runs_flag
from trainers.cli.work import work
from trainers.config import BUDGET, RunConfig
from trainers.kinds import KINDS, check
from trainers.kinds.base import Kind
from trainers.runs import RunFolder


def add(verbs: Any) -> None:
    """Add the verbs of all kinds; old verbs still work, and their help names the new one."""
    for kind in KINDS.values():
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
    for sentence in kind.advice(config):
        print(f"rankscope: {sentence}", file=sys.stderr)
    folder = RunFolder.create(arguments.runs, config)
    print(f"run {folder.id} in {folder.path}")
    return work(folder)
