"""Moves values between host and device. Labels stay on the host, where batches are planned in numpy while a GPU works.

Arrays and tensors are exchanged by DLPack: both see the same memory, and no operation of torch is involved.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def host(numbers: Tensor, dtype: type = np.int64) -> np.ndarray:
    """Return a tensor's integers or booleans as a read-only array; waits for a tensor on a GPU.

    The array may share the tensor's memory. torch before 2.9 and numpy before 2.1 refuse writing to it.
    """
    return np.from_dlpack(numbers if numbers.device.type == "cpu" else numbers.cpu()).astype(dtype, copy=False)


def tensor(numbers: np.ndarray) -> Tensor:
    """Return an array as a tensor on the CPU."""
    return torch.from_dlpack(np.require(numbers, requirements=("C", "W")))


def send(numbers: np.ndarray | Tensor, device: torch.device) -> Tensor:
    """Copy to the device without waiting; values already on it are returned unchanged."""
    values = numbers if isinstance(numbers, Tensor) else tensor(numbers)
    if values.device.type == device.type:
        return values
    if device.type == "cuda" and torch.cuda.is_available() and type(values) is Tensor:
        values = values.pin_memory()  # from other memory the copy would wait for what the device is doing
    return values.to(device, non_blocking=True)


def columns(labels: Tensor) -> np.ndarray:
    """Return ``[N, L]`` labels, finest level first, from ``[N]`` or ``[N, L]``."""
    numbers = host(labels)
    return numbers[:, None] if numbers.ndim == 1 else numbers


def finest(labels: Tensor) -> Tensor:
    """Return ``[N]`` labels of the finest level on the CPU, from ``[N]`` or ``[N, L]``."""
    return tensor(columns(labels)[:, 0])


def equal(labels: Tensor, others: Tensor, device: torch.device) -> Tensor:
    """Return bool ``[A, N]`` on the device: whether finest ``labels [A]`` or ``[A, L]`` are those of ``others``."""
    rows = send(finest(labels), device)
    return rows[:, None] == (rows if others is labels else send(finest(others), device))[None]


def read(numbers: Tensor) -> np.ndarray:
    """Read values as an array on the host; waits for a GPU."""
    return numbers.cpu().numpy()
