"""The views that a run's encoder sees."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.data import peek_data
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.training.augmentations import AUGMENTATIONS, Augment


def views_of(config: ContrastiveConfig, channels: int) -> Augment:
    """Return the function that makes a run's views of images of ``channels`` channels; view 0 is the query.

    Raises:
        ParameterError: a parameter is wrong.
    """
    return _augment(config.augmentation, channels)


def head_views_of(config: ContrastiveConfig, channels: int) -> Augment:
    """Return the function that makes the images for the classifier of the second stage.

    Raises:
        ParameterError: a parameter is wrong.
    """
    return _augment(config.head_augmentation, channels)


def _augment(choice: Choice, channels: int) -> Augment:
    return AUGMENTATIONS[choice.name].build(dict(choice.parameters), channels)


def preview(config: ContrastiveConfig, count: int, step: int = 0) -> Tensor:
    """Make two views of a few images, as the run would see them in a step.

    Returns:
        float32 ``[n, 2, C, S, S]`` in 0..1, n at most ``count``.

    Raises:
        UserError: the images cannot be read, or a parameter is wrong.
    """
    images = peek_data(config.data, count)
    view = views_of(config, images.shape[1])
    return torch.stack([view(images, seed=config.seed, step=step, view=number) for number in (0, 1)], 1)
