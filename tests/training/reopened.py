"""A run that ends without a word and is opened again, and what must be the same as if it had not."""

from __future__ import annotations

from typing import TypeVar

from trainers.runs import RunFolder
from trainers.training.loop import Loop

AnyLoop = TypeVar("AnyLoop", bound=Loop)
TIMED = ("images_per_s", "test/processor_seconds")


def reopened(run: AnyLoop, steps: int = 4) -> AnyLoop:
    """Train ``run`` to a step, write a checkpoint, take one more step that is lost, and open its folder again."""
    run.advance(0)  # the first snapshot only
    while run.step < steps:
        run.take_step()
    run.checkpoint()
    run.take_step()
    again = type(run)(RunFolder.open(run.folder.path.parent, run.folder.id))
    assert again.step == steps
    return again


def numbers(folder: RunFolder) -> dict[tuple[int, int, str], float]:
    """Everything a run has logged that is not of time, by arm, step and key."""
    return {(s.arm, s.step, s.key): s.value for s in folder.scalars() if s.key not in TIMED}
