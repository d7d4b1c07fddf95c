"""Blur: out of focus, through frosted glass, moved, zoomed."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from trainers.data.corruptions._filters import bell, convolve, gaussian_blur, motion_blur, sample, zoom
from trainers.data.corruptions.base import CorruptionDescriptor, Draws, length, strength


def _defocus(images: Tensor, severity: int, _draws: Draws) -> Tensor:
    radius = length(images, severity, (0.3, 0.4, 0.5, 1.0, 1.5), (3, 4, 6, 8, 10))
    sigma = length(images, severity, (0.4, 0.5, 0.6, 0.2, 0.1), (0.1, 0.5, 0.5, 0.5, 0.5))
    return convolve(images, disk(radius, sigma))


def disk(radius: float, sigma: float) -> Tensor:
    """Make a disk with a soft rim, blurred: a kernel ``[n, n]`` of sum one; radius and sigma in pixels."""
    weight = bell(sigma)
    reach = math.ceil(radius + 0.5) + len(weight) // 2
    position = torch.arange(-reach, reach + 1).float()
    distance = (position[:, None].square() + position.square()).sqrt()
    flat = (radius + 0.5 - distance).clamp(0, 1)
    soft = convolve(convolve(flat[None, None], weight[None]), weight[:, None])[0, 0]
    return soft / soft.sum()


def _glass(images: Tensor, severity: int, draws: Draws) -> Tensor:
    sigma = length(images, severity, (0.1, 0.1, 0.1, 0.1, 0.1), (0.4, 0.5, 0.6, 0.7, 0.9))
    reach = length(images, severity, (0.6, 0.75, 1.0, 1.3, 1.7), (1.5, 2.0, 3.0, 4.0, 5.5))
    count, _, height, width = images.shape
    offset = (2 * draws.uniform(count, height, width, 2) - 1) * reach
    return gaussian_blur(sample(gaussian_blur(images, sigma), offset, mode="nearest"), sigma)


def _motion(images: Tensor, severity: int, draws: Draws) -> Tensor:
    radius = length(images, severity, (6, 6, 6, 8, 9), (10, 15, 15, 15, 20))
    sigma = length(images, severity, (1, 1.5, 2, 2.25, 2.5), (3, 5, 8, 12, 15))
    return motion_blur(images, radius, sigma, 90 * draws.uniform(len(images)) - 45)


def _zoom(images: Tensor, severity: int, _draws: Draws) -> Tensor:
    most = strength(images, severity, (1.05, 1.10, 1.15, 1.20, 1.25), (1.10, 1.15, 1.20, 1.25, 1.30))
    factors = torch.linspace(1, most, 1 + round((most - 1) / 0.01)).tolist()
    return (images + sum(zoom(images, factor) for factor in factors)) / (len(factors) + 1)


DESCRIPTORS = (
    CorruptionDescriptor(
        name="defocus_blur",
        title="Defocus blur",
        sentence="Each point becomes a disk: the lens is out of focus.",
        group="blur",
        change=_defocus,
        differs="The disk has a soft rim, where the paper's is made of whole pixels.",
        order=20,
    ),
    CorruptionDescriptor(
        name="glass_blur",
        title="Glass blur",
        sentence="Pixels are taken from near-by places, as through frosted glass.",
        group="blur",
        change=_glass,
        differs="All pixels are taken from random near-by places at once; the paper swaps them one after another. "
        "The strengths are ours, so that every severity changes more than the one before.",
        order=21,
    ),
    CorruptionDescriptor(
        name="motion_blur",
        title="Motion blur",
        sentence="The camera moves along a line, at an angle of up to 45 degrees.",
        group="blur",
        change=_motion,
        differs="At 32 pixels the weights of severity 4 fall off over 2.25 pixels; the paper's over 2, as for 3.",
        order=22,
    ),
    CorruptionDescriptor(
        name="zoom_blur",
        title="Zoom blur",
        sentence="The camera moves towards the middle of the image.",
        group="blur",
        change=_zoom,
        differs="The zoom always grows in steps of about 0.01; the paper's large images use up to 0.03.",
        order=23,
    ),
)
