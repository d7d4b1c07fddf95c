"""The devices to train on: the choice of one, and the GPUs that trainers may use."""

from __future__ import annotations

import os

import torch

from trainers.devices.space import without_gpu
from trainers.errors import ParameterError


def choose(wanted: str) -> tuple[torch.device, str]:
    """Resolve ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` to a device and the reason in words.

    Raises:
        ParameterError: the device named is not there.
    """
    if wanted == "cpu":
        return torch.device("cpu"), f"the CPU was asked for ({torch.get_num_threads()} threads)"
    if wanted == "auto":
        if torch.cuda.is_available() and not without_gpu():
            device = torch.device("cuda", torch.cuda.current_device())
            return device, f"a GPU is there: {torch.cuda.get_device_name(device)}"
        return torch.device("cpu"), f"no CUDA device was found, so the CPU ({torch.get_num_threads()} threads)"
    kind, _, index = wanted.partition(":")
    number = int(index) if index.isdigit() else 0
    if kind != "cuda" or (index and not index.isdigit()):
        raise ParameterError(f"device needs auto, cpu, cuda or cuda:N; got {wanted!r}.")
    if without_gpu():
        raise ParameterError(f"{wanted} was asked for; on ZeroGPU a GPU is lent for seconds: use auto or cpu.")
    if number >= (count := torch.cuda.device_count()):
        raise ParameterError(
            f"{wanted} was asked for and this machine shows {count} CUDA device{'s' * (count != 1)}; use auto or cpu."
        )
    return torch.device("cuda", number), f"{wanted} was asked for: {torch.cuda.get_device_name(number)}"


_NO_MEMORY = ("out of memory", "can't allocate memory", "STATUS_ALLOC_FAILED")
"""Words of errors that are no :class:`torch.OutOfMemoryError`: of CUDA, of torch on a CPU, and of CUDA's libraries."""


def memory_ran_out(error: BaseException) -> str | None:
    """Say what to do if an error says that memory ran out, on a GPU or not; None: it says something else."""
    known = isinstance(error, (torch.OutOfMemoryError, MemoryError))
    if not known and not (isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)):
        return None
    of_cpu = isinstance(error, MemoryError) or "DefaultCPUAllocator" in str(error)
    return (
        f"The memory of {'this machine' if of_cpu else 'the GPU'} ran out. Free some and resume this run, or start "
        "another with fewer classes or images in a batch, smaller images, chunks or checkpointing."
    )


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
