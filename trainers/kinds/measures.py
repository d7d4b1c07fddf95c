"""Finds the numbers that a run of some kind shows."""

from __future__ import annotations

from trainers.config import RunConfig
from trainers.kinds.finetuning.measures import MEASURES as FINETUNING
from trainers.kinds.metric_learning.measures import MEASURES as METRIC_LEARNING
from trainers.metrics.measures import Measures


def measures_of(config: RunConfig) -> Measures:
    """The measures of a run's kind."""
    return METRIC_LEARNING if config.mend is None else FINETUNING
