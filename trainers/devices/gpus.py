"""Lists the GPUs that trainers may use, without opening one of them in this process."""

from __future__ import annotations

import os

import torch

from trainers.devices.zerogpu import without_gpu


def gpus() -> tuple[str, ...]:
    """Return one word per GPU, as ``CUDA_VISIBLE_DEVICES`` takes it; empty without a GPU."""
    if without_gpu():
        return ()
    count = torch.cuda.device_count()  # asks the driver's library; creates no context
    listed = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    return tuple(listed[:count]) if listed else tuple(str(index) for index in range(count))
