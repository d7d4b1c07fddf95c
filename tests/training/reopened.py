"""A run that ends without a word and is opened again."""

from __future__ import annotations

from typing import TypeVar

from trainers.runs import RunFolder
from trainers.training.loop import Loop

AnyLoop = TypeVar("AnyLoop", bound=Loop)


def reopened(run: AnyLoop) -> AnyLoop:
    """Train ``run`` four steps, write a checkpoint, take one more step that is lost, and open its folder again."""
    run.advance(0)  # the first snapshot only
    for _ in range(4):
        run.take_step()
    run.checkpoint()
    run.take_step()
    again = type(run)(RunFolder.open(run.folder.path.parent, run.folder.id))
    assert again.step == 4
    return again
