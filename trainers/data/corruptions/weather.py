"""Weather: snow, frost, fog, brightness. Snow, frost and fog are drawn, not taken from photographs."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from trainers.data.corruptions._filters import field, grey, motion_blur, plasma
from trainers.data.corruptions.base import CorruptionDescriptor, Draws, length, strength

FLAKE = 1.5  # brightness of a flake before it is drawn out into a streak
ICE = (0.86, 0.93, 1.0)  # colour of frost, red, green and blue


def _snow(images: Tensor, severity: int, draws: Draws) -> Tensor:
    count, _, height, width = images.shape
    flake = length(images, severity, (1.0, 1.0, 1.1, 1.2, 1.3), (2.0, 2.25, 2.5, 2.75, 3.0))
    share = (0.006, 0.01, 0.015, 0.02, 0.027)[severity - 1]
    sigma = length(images, severity, (1.0, 1.25, 1.5, 1.75, 2.0), (4, 4.5, 5, 5.5, 6))
    kept = strength(images, severity, (0.95, 0.925, 0.9, 0.85, 0.8), (0.8, 0.75, 0.7, 0.65, 0.55))
    angle = -135 + 90 * draws.uniform(count)
    rows, columns = (max(2, round(size / flake)) for size in (height, width))
    flakes = (draws.uniform(count, 1, rows, columns) < share).to(images.dtype) * FLAKE
    layer = functional.interpolate(flakes, (height, width), mode="bilinear", align_corners=False)
    layer = motion_blur(layer, 3 * sigma, sigma, angle)
    whiter = kept * images + (1 - kept) * torch.maximum(images, grey(images) * 1.5 + 0.5)
    return whiter + layer + layer.flip(2, 3)


def _frost(images: Tensor, severity: int, draws: Draws) -> Tensor:
    count, channels, height, width = images.shape
    kept = strength(images, severity, (1.0, 1.0, 0.9, 0.85, 0.75), (1.0, 0.8, 0.7, 0.65, 0.6))
    ice = strength(images, severity, (0.2, 0.3, 0.4, 0.45, 0.5), (0.4, 0.6, 0.7, 0.75, 0.8))
    cover = torch.sigmoid(2 * field(draws, count, height, width, 4) + 0.5)
    ridges = sum(
        torch.exp(-3 * field(draws, count, height, width, cells).abs()) / 2**octave
        for octave, cells in enumerate((6, 12, 24))
    )
    layer = (cover * (0.35 + 0.65 * ridges)).clamp(max=1)
    colour = images.new_tensor(ICE if channels == 3 else (sum(ICE) / 3,))
    return kept * images + ice * layer * colour[:, None, None]


def _fog(images: Tensor, severity: int, draws: Draws) -> Tensor:
    thickness = strength(images, severity, (0.2, 0.5, 0.75, 1.0, 1.5), (1.5, 2.0, 2.5, 3.0, 3.5))
    decay = strength(images, severity, (3, 3, 2.5, 2, 1.75), (2, 2, 1.9, 1.8, 1.7))
    brightest = images.amax((1, 2, 3), keepdim=True)
    count, _, height, width = images.shape
    clouds = plasma(draws, count, height, width, decay)
    return (images + thickness * clouds) * brightest / (brightest + thickness)


def _brightness(images: Tensor, severity: int, _draws: Draws) -> Tensor:
    added = strength(images, severity, (0.05, 0.1, 0.15, 0.2, 0.3), (0.1, 0.2, 0.3, 0.4, 0.5))
    value = images.amax(1, keepdim=True)
    more = (value + added).clamp(max=1)
    return torch.where(value > 0, images * (more / value.clamp(min=1e-6)), more)


DESCRIPTORS = (
    CorruptionDescriptor(
        name="snow",
        title="Snow",
        sentence="Streaks of falling snow over a whiter image.",
        group="weather",
        change=_snow,
        differs="Flakes are drawn by a share of the area, which is ours, as are their size and length; the whitening "
        "is the paper's, but for severity 2.",
        order=30,
    ),
    CorruptionDescriptor(
        name="frost",
        title="Frost",
        sentence="Ice crystals on the lens.",
        group="weather",
        change=_frost,
        differs="The ice is drawn from noise, where the paper lays photographs of frost over the image; "
        "severities 4 and 5 lay on a little more of it.",
        order=31,
    ),
    CorruptionDescriptor(
        name="fog",
        title="Fog",
        sentence="Clouds before the image.",
        group="weather",
        change=_fog,
        differs="The clouds are octaves of value noise, where the paper's come from the diamond-square algorithm; "
        "at 224 pixels severities 3 to 5 are less fine than the paper's, and 4 and 5 thicker.",
        order=32,
    ),
    CorruptionDescriptor(
        name="brightness",
        title="Brightness",
        sentence="Daylight that is too bright: the value of every colour is raised.",
        group="weather",
        change=_brightness,
        order=33,
    ),
)
