"""Training images that are measured, divided into batches as the run's sampler composes them."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.errors import ParameterError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.samplers import SAMPLERS, Sampler


def gap_batches(labels: Tensor, config: MetricLearningConfig) -> Tensor | None:
    """Return the batch of each image: that in which the run's sampler would draw it first, were these all the images.

    Images that it never draws, alone in their class, make up a batch of their own. Where there are fewer classes than a
    batch has, a batch has all of them.

    Args:
        labels: int64 ``[N, L]``, finest first.

    Returns:
        int64 ``[N]``; None where the sampler can make no batch of them.
    """
    counts = torch.unique(labels[:, 0], return_counts=True)[1]
    usable = int((counts > 1).sum())
    size = config.images_per_class
    try:
        sampler = SAMPLERS[config.sampler].build(labels, min(config.classes_per_batch, usable), size, config.seed)
    except ParameterError:
        return None
    rounds = -(-int(counts.max()) // size)
    return _first_drawn(sampler, len(labels), rounds * sampler.batches_per_epoch)


def _first_drawn(sampler: Sampler, count: int, steps: int) -> Tensor:
    batch = torch.full((count,), -1)
    for step in range(steps):
        rows = sampler.batch(step)
        batch[rows[batch[rows] < 0]] = step
    return batch
