"""What a run trains on in its next step."""

from __future__ import annotations

from typing import Any

from trainers.training.loop import Loop


def next_batch(run: Loop) -> Any:
    """Take a step, and return the batch that the first arm was given."""
    given: list[Any] = []
    arm, step = run.arms[0], run.arms[0].step

    def noted(batch: Any, factor: float) -> Any:
        given.append(batch)
        return step(batch, factor)

    arm.step = noted  # type: ignore[method-assign]
    run.take_step()
    del arm.step
    return given[0]
