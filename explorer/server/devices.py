"""The GPUs that trainers may use, asked for without touching one of them from this process."""

from __future__ import annotations

import os

import torch


def gpus() -> tuple[str, ...]:
    """One word per GPU, as ``CUDA_VISIBLE_DEVICES`` takes it; empty without a GPU."""
    count = torch.cuda.device_count()  # asks the driver's library; makes no context
    listed = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    return tuple(listed[:count]) if listed else tuple(str(index) for index in range(count))
