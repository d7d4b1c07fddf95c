"""Take the colour out of images."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.devices.host import send

WEIGHTS = (0.2989, 0.587, 0.114)
"""Of red, green and blue in the luminance, as in torchvision."""


def luminance(images: Tensor) -> Tensor:
    """Return the luminance, float ``[B, 1, H, W]``, of colour images float ``[B, 3, H, W]``."""
    red, green, blue = images.unbind(1)
    return (WEIGHTS[0] * red).add_(green, alpha=WEIGHTS[1]).add_(blue, alpha=WEIGHTS[2])[:, None]


def grey(images: Tensor, which: Tensor) -> Tensor:
    """Replace the colours of those of float ``[B, 3, H, W]`` that ``which``, bool ``[B]`` on the CPU, names."""
    return torch.where(send(which, images.device)[:, None, None, None], luminance(images), images)
