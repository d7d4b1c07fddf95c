"""What the commands that train share: their flags, how they say what is wrong, and smaller sets of drawn scenes."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable

from trainers.config import SceneChoice
from trainers.errors import UserError


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The parser of ``python -m tests.make.NAME``; its help states the defaults."""
    return argparse.ArgumentParser(
        prog=f"python -m tests.make.{name}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )


def add_scene_flags(flags: argparse.ArgumentParser) -> None:
    """Add ``--scenes``, which :func:`fewer_scenes` takes, and ``--threads``."""
    flags.add_argument("--scenes", type=int, default=None, help="train scenes; the drawn scenes' default if not given")
    flags.add_argument("--threads", type=int, default=None, help="CPU threads of torch")


def fewer_scenes(train: int | None) -> SceneChoice:
    """The drawn scenes with so many to train on, the other splits in proportion; None: as they are."""
    if train is None:
        return SceneChoice()
    return SceneChoice(source=f"drawn_scenes:train={train},val={train // 12},test={max(20, train // 6)}")


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
