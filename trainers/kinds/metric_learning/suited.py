"""The settings of a run once its images are known, or why they cannot be had."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.data.base import LoadedData
from trainers.data.roles import Roles
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.footprint import footprint
from trainers.metrics.asked import check_size
from trainers.samplers import SAMPLERS
from trainers.samplers.base import Sampler
from trainers.training.footprint import Shape, check_fits


@dataclass(frozen=True, kw_only=True)
class Suited:
    """Settings and images that suit each other.

    Attributes:
        labels: of the training images, int64 ``[N, L]``, finest first, whose finest classes are numbered without gaps.
        classes: how many finest ones there are.
        per_batch: classes of a batch.
        sampler: draws the batches.
        notes: sentences on what is not as it was asked for.
    """

    labels: Tensor
    classes: int
    per_batch: int
    sampler: Sampler
    notes: tuple[str, ...]


def suit(config: MetricLearningConfig, data: LoadedData) -> Suited:
    """Suit settings and images to each other.

    Raises:
        UserError: a metric, the sampler or the memory of this machine does not allow it.
    """
    classes, compact = torch.unique(data.train.labels[:, 0], return_inverse=True)
    labels = torch.cat([compact[:, None], data.train.labels[:, 1:]], dim=1)
    wanted = config.classes_per_batch
    per_batch = max(1, min(wanted, int((torch.bincount(compact) > 1).sum())))  # a class of one image has no pairs
    fewer = f"batch: {per_batch} classes, all there are to train on; {wanted} were asked for"
    roles = Roles.of(data.test.attributes, data.attributes)
    searched = None if roles is None else len(roles.searched)
    check_size(config.metrics, data.test.labels.shape[1], len(data.test), searched)
    _, channels, side, _ = data.train.images.shape
    images = len(data.train) + len(data.test)
    check_fits(footprint(config, Shape(images=images, channels=channels, side=side, classes=len(classes))))
    sampler = SAMPLERS[config.sampler].build(labels, per_batch, config.images_per_class, config.seed)
    notes = () if per_batch == wanted else (fewer,)
    return Suited(labels=labels, classes=len(classes), per_batch=per_batch, sampler=sampler, notes=notes)
