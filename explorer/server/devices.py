"""The processes and GPUs that a run of the queue gets."""

from __future__ import annotations

import os
from collections.abc import Sequence

from trainers.errors import ParameterError
from trainers.kinds import kind_of
from trainers.runs import RunFolder
from trainers.training.executor import Device


def processes_of(folder: RunFolder) -> int:
    """Return how many processes train a run here and now."""
    config = folder.config.single
    try:
        return kind_of(config).processes(config, folder.processes)
    except ParameterError:  # its trainer says what is wrong
        return 1


def device_of(folder: RunFolder, gpus: Sequence[str], held: Sequence[str]) -> Device:
    """Return the GPUs with the fewest runs, one for each process of a run; without a GPU a share of the cores.

    Args:
        gpus: of this machine.
        held: the GPUs of the runs that train, each as often as runs train on it.
    """
    count = processes_of(folder)
    if not gpus or folder.config.single.device != "auto":
        return Device(processes=count, threads=max(1, (os.cpu_count() or 1) // count) if count > 1 else None)
    return Device(gpus=tuple(sorted(gpus, key=held.count)[:count]), processes=count)
