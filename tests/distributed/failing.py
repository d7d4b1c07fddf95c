"""``FAILS=RANK:HOW python -m tests.distributed.failing RUN_FOLDER``: the worker, of which one process fails.

Every step is followed by a checkpoint, so that the last one is of the step before the failure.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any, NoReturn

import pytest
import torch

from trainers.distributed.launch import launched
from trainers.errors import DataError
from trainers.kinds.metric_learning.loop import LossArm, MetricLearningLoop
from trainers.training import loop
from trainers.worker import main

STEP = 4
REFUSED = "The images of this process are not those of the others."
MEMORY = "Tried to allocate 20.00 GiB"


def refuse(*_arguments: object) -> NoReturn:
    raise DataError(REFUSED)


def out_of_memory(*_arguments: object) -> NoReturn:
    raise torch.OutOfMemoryError(MEMORY)


def at_step(method: Any) -> Any:
    """Out of memory in place of a method of an arm, in the step :data:`STEP`."""
    calls = iter(range(sys.maxsize))

    def changed(self: LossArm, *arguments: Any) -> Any:
        return out_of_memory() if next(calls) == STEP else method(self, *arguments)

    return changed


def fail(patch: pytest.MonkeyPatch, how: str) -> None:
    if how == "refuses":
        patch.setattr(MetricLearningLoop, "_build", refuse)
    elif how == "memory at set-up":
        patch.setattr(MetricLearningLoop, "_build", out_of_memory)
    else:  # before the embeddings are gathered, or after
        method = {"memory in the encoder": "step", "memory in the backward pass": "descend"}[how]
        patch.setattr(LossArm, method, at_step(getattr(LossArm, method)))


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        patched.setattr(loop, "CHECKPOINT_SHARE", math.inf)
        launch, (fails, _, kind) = launched(), os.environ.get("FAILS", "").partition(":")
        if launch is not None and str(launch.rank) == fails:
            fail(patched, kind)
        sys.exit(main(sys.argv[1:]))
