"""The views that a run's encoder sees."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainers.data import peek_data
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.pretexts import PRETEXTS
from trainers.training.augmentations import AUGMENTATIONS


def views_of(config: ContrastiveConfig, channels: int) -> Callable[..., Tensor]:
    """What makes a run's views of images of ``channels`` channels, see
    :meth:`trainers.kinds.contrastive.pretexts.base.PretextDescriptor.bind`.

    Raises:
        ParameterError: a parameter is wrong.
    """
    augment = AUGMENTATIONS[config.augmentation.name].build(dict(config.augmentation.parameters), channels)
    return PRETEXTS[config.pretext.name].bind(dict(config.pretext.parameters), augment)


def preview(config: ContrastiveConfig, count: int, step: int = 0) -> Tensor:
    """Two views of a few images, as the run would see them in a step.

    Returns:
        float32 ``[n, 2, C, S, S]`` in 0..1, n at most ``count``.

    Raises:
        UserError: the images cannot be read, or a parameter is wrong.
    """
    images = peek_data(config.data, count)
    view = views_of(config, images.shape[1])
    return torch.stack([view(images, seed=config.seed, step=step, view=number) for number in (0, 1)], 1)
