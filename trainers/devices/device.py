"""Chooses the device to train on."""

from __future__ import annotations

import torch

from trainers.devices.zerogpu import without_gpu
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
    if number >= torch.cuda.device_count():
        raise ParameterError(
            f"{wanted} was asked for and this machine shows {torch.cuda.device_count()} CUDA devices; use auto or cpu."
        )
    return torch.device("cuda", number), f"{wanted} was asked for: {torch.cuda.get_device_name(number)}"
