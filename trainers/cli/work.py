"""Trains a run with a progress bar, and prints its final numbers."""

from __future__ import annotations

import sys

from trainers.cli.progress import train_with_bar
from trainers.kinds import kind_of
from trainers.runs import RunFolder


def work(folder: RunFolder) -> int:
    """Train, and print the final numbers or the error; returns the exit status."""
    state = train_with_bar(folder)
    if state.error:
        print(f"rankscope: {state.error}", file=sys.stderr)
        return 1
    print(state.message if state.phase != "finished" else result(folder))
    return 0


def result(folder: RunFolder) -> str:
    """The numbers over the whole test set, a line per arm."""
    kind = kind_of(folder.config)
    titles = [arm.title for arm in kind.arms(folder.config)]
    return f"finished after {folder.state().seconds:.0f} s; {kind.measures.last_lines(folder.scalars(), titles)}"
