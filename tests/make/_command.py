"""What the commands that train share: their parser, and how they say what is wrong."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable

from trainers.errors import UserError


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The parser of ``python -m tests.make.NAME``; its help states the defaults."""
    return argparse.ArgumentParser(
        prog=f"python -m tests.make.{name}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )


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
