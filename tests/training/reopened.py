"""A run that ends without a word and is opened again."""

from __future__ import annotations

from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder


def reopened(run: MetricLearningLoop) -> MetricLearningLoop:
    """Train ``run`` four steps, write a checkpoint, take one more step that is lost, and open its folder again."""
    run.advance(0)  # the first snapshot only
    for _ in range(4):
        run._one_step()
    run.checkpoint()
    run._one_step()
    again = MetricLearningLoop(RunFolder.open(run.folder.path.parent, run.folder.id))
    assert again.step == 4
    return again
