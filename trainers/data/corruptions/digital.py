"""Digital: contrast, elastic distortion, pixelation, JPEG."""

from __future__ import annotations

import math
from io import BytesIO

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from trainers.data.corruptions._filters import field, sample
from trainers.data.corruptions.base import CorruptionDescriptor, Draws, side, strength
from trainers.data.image_file import open_header

WAVES = 6  # of the elastic displacement across a side


def _contrast(images: Tensor, severity: int, _draws: Draws) -> Tensor:
    kept = strength(images, severity, (0.75, 0.5, 0.4, 0.3, 0.15), (0.4, 0.3, 0.2, 0.1, 0.05))
    mean = images.mean((2, 3), keepdim=True)
    return mean + kept * (images - mean)


def _elastic(images: Tensor, severity: int, draws: Draws) -> Tensor:
    count, _, height, width = images.shape
    reach = (0.010, 0.015, 0.020, 0.027, 0.035)[severity - 1] * side(images)
    offset = torch.cat([field(draws, count, height, width, WAVES) for _ in "xy"], 1)
    return sample(images, reach * offset.permute(0, 2, 3, 1))


def _pixelate(images: Tensor, severity: int, _draws: Draws) -> Tensor:
    share = strength(images, severity, (0.95, 0.9, 0.85, 0.75, 0.65), (0.6, 0.5, 0.4, 0.3, 0.25))
    for dim in (2, 3):
        full = images.shape[dim]
        few = max(1, math.floor(full * share))
        both = cells(full, few) @ cells(few, full)
        images = torch.movedim(torch.movedim(images, dim, 3) @ both.T.to(images), 3, dim)
    return images


def cells(new: int, old: int) -> Tensor:
    """Return the weights of resampling by area, ``[new, old]``: the share of each new cell that each old one covers."""
    starts, others = torch.arange(new)[:, None] / new, torch.arange(old)[None] / old
    covered = torch.minimum(starts + 1 / new, others + 1 / old) - torch.maximum(starts, others)
    return covered.clamp(min=0) * new


def _jpeg(images: Tensor, severity: int, _draws: Draws) -> Tensor:
    quality = round(strength(images, severity, (80, 65, 58, 50, 40), (25, 18, 15, 10, 7)))
    pixels = (images * 255).round_().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
    coded = np.stack([jpeg(image.squeeze(2) if image.shape[2] == 1 else image, quality) for image in pixels])
    return torch.from_numpy(coded).to(images).reshape(pixels.shape).permute(0, 3, 1, 2) / 255


def jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    """Send uint8 ``[H, W]`` or ``[H, W, 3]`` through a JPEG file of this quality, 1 to 95, by Pillow."""
    file = BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(open_header(file.getvalue()))


DESCRIPTORS = (
    CorruptionDescriptor(
        name="contrast",
        title="Contrast",
        sentence="Everything moves towards the mean colour of the image.",
        group="digital",
        change=_contrast,
        order=40,
    ),
    CorruptionDescriptor(
        name="elastic",
        title="Elastic transform",
        sentence="Small regions are stretched and squeezed.",
        group="digital",
        change=_elastic,
        differs="One smooth displacement whose size is ours, from 1 % to 3.5 % of the side; the paper adds an affine "
        "map, and its severities do not grow evenly.",
        order=41,
    ),
    CorruptionDescriptor(
        name="pixelate",
        title="Pixelate",
        sentence="A low resolution, enlarged again.",
        group="digital",
        change=_pixelate,
        differs="Both changes of size average by area; the paper's enlargement repeats whole pixels.",
        order=42,
    ),
    CorruptionDescriptor(
        name="jpeg",
        title="JPEG",
        sentence="Compression to a low quality, on the processor wherever the images are.",
        group="digital",
        change=_jpeg,
        order=43,
    ),
)
