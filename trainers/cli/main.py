"""The command line: parses the arguments, runs a verb, and prints user errors as one sentence."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from trainers import plugins
from trainers.cells import WRITTEN_OUT
from trainers.cli import brought, catalogue, data, look, mistakes, papers, pictures, removal, retrieve, start, untrained
from trainers.cli.parser import Parser, add_section, named
from trainers.cluster.address import use
from trainers.distributed.launch import launched
from trainers.errors import UserError


class Added(Protocol):
    """What adds verbs: a verb, or a module of several."""

    def add(self, verbs: Any, /) -> None:
        """Add them."""


SECTIONS: Mapping[str, tuple[Added, ...]] = MappingProxyType(
    {
        "Train": (start, start.resume),
        "Runs that are there": (
            brought.show,
            brought.take_in,
            look.show,
            look.send,
            look.rename,
            look.delete,
            look.export,
            pictures.film,
            look.push,
        ),
        "What came of them": (
            retrieve.retrieve,
            mistakes.show,
            untrained.untrained,
            removal.background,
            removal.score,
            look.compare,
        ),
        "Papers": (papers.claims, papers.recipe),
        "Datasets": (data.inspect, data.group),
        "What there is to choose from": (catalogue,),
    }
)
"""The verbs, by the headings of the help."""


def main(argv: list[str]) -> int:
    """Parse and run; errors meant for people are printed as one sentence, exit status 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=WRITTEN_OUT)  # a name may hold what no terminal can print
    try:
        if not argv:
            whole_parser().print_help()
            return 0
        arguments = named(whole_parser().parse_args(argv))
        plugins.begin()
        if hasattr(arguments, "ray"):
            use(arguments.ray)
        return int(arguments.run(arguments)) if launched() is None else _together(arguments)
    except UserError as error:
        print(f"rankscope: {error}", file=sys.stderr)
        return 1


def _together(arguments: argparse.Namespace) -> int:
    """Run a verb in the first of several processes; the others take part in the training of its run."""
    from trainers.distributed.group import join
    from trainers.worker import beside

    group = join()
    assert group is not None
    if group.launch.rank:
        return beside(group)
    try:
        return int(arguments.run(arguments))
    finally:
        group.leave()


def whole_parser() -> Parser:
    """Return the parser of all verbs."""
    parser = Parser(
        prog="python -m trainers",
        description="Train and score without a browser. The page shows every run of the same folder.",
        epilog="Each command has --help.",
    )
    verbs = parser.add_subparsers(required=True, metavar="COMMAND", dest="command", prog=parser.prog)
    for title, added in SECTIONS.items():
        add_section(verbs, title, *(verb.add for verb in added))
    add_section(verbs, "Further kinds of run", start.add_further)
    return parser
