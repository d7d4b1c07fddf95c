"""Lists the GPUs that trainers may use, without opening one of them in this process."""

from __future__ import annotations

import os

import torch

from trainers.devices.zerogpu import without_gpu
from trainers.errors import ParameterError

CPU_PROCESSES = "RANKSCOPE_CPU_PROCESSES"
"""Environment variable with how many processes may train a run together on a machine without a GPU, for trials."""


def gpus() -> tuple[str, ...]:
    """Return one word per GPU, as ``CUDA_VISIBLE_DEVICES`` takes it; empty without a GPU."""
    if without_gpu():
        return ()
    count = torch.cuda.device_count()  # asks the driver's library; creates no context
    listed = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    return tuple(listed[:count]) if listed else tuple(str(index) for index in range(count))


def most_processes() -> int:
    """Return how many processes may train one run here: one for each GPU."""
    return max(1, len(gpus()) or int(os.environ.get(CPU_PROCESSES) or 1))


def check_processes(count: int, device: str) -> None:
    """Refuse a number of processes for which there are no GPUs.

    Raises:
        ParameterError: there are fewer, or the setting ``device`` names one of them.
    """
    if count > 1 and device.startswith("cuda:"):
        raise ParameterError(f"{count} processes need a GPU each; got the device {device}. Leave the device at auto.")
    if count > (most := most_processes()):
        raise ParameterError(
            f"A run is trained by one process on each visible GPU, {most} at most here; got {count} processes."
        )
