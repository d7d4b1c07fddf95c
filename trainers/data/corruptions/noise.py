"""Noise: Gaussian, shot, impulse."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.data.corruptions.base import CorruptionDescriptor, Draws, strength


def _gaussian(images: Tensor, severity: int, draws: Draws) -> Tensor:
    sigma = strength(images, severity, (0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38))
    return images + sigma * draws.normal(*images.shape)


def _shot(images: Tensor, severity: int, draws: Draws) -> Tensor:
    photons = strength(images, severity, (500, 250, 100, 75, 50), (60, 25, 12, 5, 3))
    return torch.poisson(images * photons, generator=draws.generator) / photons


def _impulse(images: Tensor, severity: int, draws: Draws) -> Tensor:
    share = strength(images, severity, (0.01, 0.02, 0.03, 0.05, 0.07), (0.03, 0.06, 0.09, 0.17, 0.27))
    hit, salt = draws.uniform(*images.shape) < share, draws.uniform(*images.shape) < 0.5
    return torch.where(hit, salt.to(images.dtype), images)


DESCRIPTORS = (
    CorruptionDescriptor(
        name="gaussian_noise",
        title="Gaussian noise",
        sentence="Normal noise on every pixel, as in low light.",
        group="noise",
        change=_gaussian,
        order=10,
    ),
    CorruptionDescriptor(
        name="shot_noise",
        title="Shot noise",
        sentence="Poisson noise: light counted in few photons.",
        group="noise",
        change=_shot,
        order=11,
    ),
    CorruptionDescriptor(
        name="impulse_noise",
        title="Impulse noise",
        sentence="Single values become black or white: salt and pepper.",
        group="noise",
        change=_impulse,
        order=12,
    ),
)
