"""Mirror images left to right."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.devices.host import send


def flip(images: Tensor, which: Tensor) -> Tensor:
    """Mirror those of ``[B, C, H, W]`` that ``which``, bool ``[B]`` on the CPU, names."""
    return torch.where(send(which, images.device)[:, None, None, None], images.flip(-1), images)
