"""Training a run behind a progress bar, and what it came to."""

from __future__ import annotations

import sys

from trainers.cli.progress import train_with_bar
from trainers.kinds import kind_of
from trainers.runs import RunFolder


def work(folder: RunFolder) -> int:
    """Train, and print the numbers at the end or what went wrong; the exit status."""
    state = train_with_bar(folder)
    if state.error:
        print(f"rankscope: {state.error}", file=sys.stderr)
        return 1
    print(state.message if state.phase != "finished" else result(folder))
    return 0


def result(folder: RunFolder) -> str:
    """The numbers over the whole test set, a line per arm."""
    from trainers.metrics.counts import whole_test
    from trainers.training.clipping import clipped_words

    kind, scalars = kind_of(folder.config), folder.scalars()
    arms = kind.arms(folder.config)
    width = max(len(arm.title) for arm in arms)
    lines, last, notes = [], {}, []
    for index, arm in enumerate(arms):
        last = {s.key[5:]: s.value for s in scalars if s.arm == index and s.key.startswith("test/")}
        numbers = "  ".join(f"{key} {last[key]:.3f}" for key in kind.final_numbers(last))
        lines.append(f"  {arm.title:<{width}}  {numbers}{clipped_words(scalars, index)}")
        notes = [f"  {sentence}" for sentence in kind.final_notes(last)]
    return "\n".join([f"finished after {folder.state().seconds:.0f} s; {whole_test(last)}:", *lines, *notes])
