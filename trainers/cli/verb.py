"""A verb of the command line."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line.

    Attributes:
        name: what is typed.
        text: what it does, as sentences.
        equip: adds its arguments to its parser.
        run: does it and returns the exit status.
    """

    name: str
    text: str
    equip: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], int]

    def add(self, verbs: Any) -> None:
        """Add it to the parsers of all verbs; it gets its arguments when it is called."""
        verbs.add_parser(self.name, help=self.text, description=self.text, equip=self._equip)

    def _equip(self, parser: argparse.ArgumentParser) -> None:
        self.equip(parser)
        parser.set_defaults(run=self.run)


def verb(
    name: str, equip: Callable[[argparse.ArgumentParser], object]
) -> Callable[[Callable[[argparse.Namespace], int]], Verb]:
    """Make a verb of a function; the first paragraph of its docstring is what the help says."""

    def made(run: Callable[[argparse.Namespace], int]) -> Verb:
        text = " ".join((inspect.getdoc(run) or "").partition("\n\n")[0].split())
        return Verb(name=name, text=text, equip=equip, run=run)

    return made
