"""Advice before a run starts: settings under which a loss would differ from its paper."""

from __future__ import annotations

from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import make


def advice(config: MetricLearningConfig, classes_per_batch: int | None = None) -> list[str]:
    """List sentences, each once, about losses that the run's batches do not suit.

    Args:
        config: checked.
        classes_per_batch: as they turned out, where the images have fewer classes than were asked for.
    """
    from trainers.losses import LOSSES

    classes = config.classes_per_batch if classes_per_batch is None else classes_per_batch
    sentences = []
    for choice in config.losses:
        loss = LOSSES.get(choice.name)  # a run of another version may have a loss that this one lacks
        if loss is not None and loss.advice is not None:
            parameters = make(loss.parameters, dict(choice.parameters), loss.title)
            sentences.append(loss.advice(parameters, config.images_per_class, classes))
    return list(dict.fromkeys(filter(None, sentences)))
