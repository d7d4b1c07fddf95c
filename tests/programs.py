"""What the programs of this folder share: their flags, their tables, and where in the documentation these go.

Benchmarks share ``benchmarks/_harness.py`` and ``_arm.py`` besides, and who needs the page ``campaigns/_page.py``.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.markers import placed
from trainers.errors import UserError


def arguments(doc: str | None, argv: Sequence[str] | None = None, **flags: tuple[Any, ...]) -> argparse.Namespace:
    """The flags of a program, each as ``name=(default, help)`` or ``(default, help, choices)``.

    Args:
        doc: of the program; its help.
        argv: what was given; None: the words after the program's name.
        flags: a default that is a list takes several words, False is a switch, and a type stands for no default.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (default, text, *choices) in flags.items():
        how: dict[str, Any] = {"type": type(default), "default": default, "choices": choices[0] if choices else None}
        if default is False:
            how = {"action": "store_true"}
        elif isinstance(default, type):
            how |= {"type": default, "default": None}
        elif isinstance(default, (list, tuple)):
            how |= {"type": type(default[0]), "nargs": "*"}
        parser.add_argument(f"--{name.replace('_', '-')}", help=text, **how)
    return parser.parse_args(argv)


def command(main: Callable[[list[str]], None]) -> Callable[[list[str]], int]:
    """``main`` with an exit status: 0, or 1 after an error meant for people, which is printed as one sentence."""

    @functools.wraps(main)
    def run(argv: list[str]) -> int:
        try:
            main(argv)
        except UserError as error:
            print(f"rankscope: {error}", file=sys.stderr)
            return 1
        return 0

    return run


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(name: str, text: str, page: Path | None) -> None:
    """Print, and put the text between ``<!-- name -->`` and ``<!-- /name -->`` of a page if one is given."""
    print(f"\n{text}", flush=True)
    if page is not None:
        page.write_text(placed(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def say(text: str) -> None:
    """A line of progress, apart from the table."""
    print(text, file=sys.stderr, flush=True)


@dataclass(kw_only=True)
class Tally:
    """What was tried and what failed, by kind.

    Attributes:
        name: of the campaign.
        head: heading of the first column.
    """

    name: str
    head: str
    tried: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    failures: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def note(self, kind: str, failures: Sequence[str] = ()) -> None:
        """One more trial of ``kind``, with a sentence for everything that went wrong."""
        self.tried[kind] += 1
        if failures:
            self.failures[kind].append("; ".join(failures))

    @property
    def total(self) -> int:
        """How many trials there were."""
        return sum(self.tried.values())

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return sum(len(failure) for failure in self.failures.values())

    def rows(self) -> list[tuple[object, ...]]:
        """One row for every kind and one for all."""
        own = [(kind, count, len(self.failures.get(kind, ()))) for kind, count in self.tried.items()]
        return [*own, ("all", self.total, self.failed)]

    def markdown(self) -> str:
        """The table, then up to five failures of each kind."""
        lines = [markdown((self.head, "tried", "failed"), self.rows())]
        for kind, failure in self.failures.items():
            lines += [f"- {kind}: {sentence[:300]}" for sentence in failure[:5]]
            lines += [f"- {kind}: {len(failure) - 5} more"] * (len(failure) > 5)
        return "\n".join([lines[0], *[""] * (len(lines) > 1), *lines[1:]])

    def end(self) -> int:
        """Print; the exit status."""
        print(f"\n{self.markdown()}", flush=True)
        return int(self.failed > 0)
