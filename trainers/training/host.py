"""Labels stay on the host: what follows from them alone is planned there, in numpy, while a GPU still works.

Arrays and tensors are exchanged by DLPack: both see the same memory, and no operation of torch is involved.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def host(numbers: Tensor, dtype: type = np.int64) -> np.ndarray:
    """The whole numbers, or truths, of a tensor, to be read alone; one on a GPU is waited for.

    The array may share the tensor's memory. torch before 2.9 and numpy before 2.1 refuse writing to it.
    """
    return np.from_dlpack(numbers if numbers.device.type == "cpu" else numbers.cpu()).astype(dtype, copy=False)


def tensor(numbers: np.ndarray) -> Tensor:
    """The same on the CPU as a tensor."""
    return torch.from_dlpack(np.require(numbers, requirements=("C", "W")))


def send(numbers: np.ndarray | Tensor, device: torch.device) -> Tensor:
    """A copy on the device, which nobody waits for; unchanged where it is there."""
    found = numbers if isinstance(numbers, Tensor) else tensor(numbers)
    if found.device.type == device.type:
        return found
    if device.type == "cuda" and torch.cuda.is_available() and type(found) is Tensor:
        found = found.pin_memory()  # from other memory the copy would wait for what the device is doing
    return found.to(device, non_blocking=True)


def columns(labels: Tensor) -> np.ndarray:
    """``[N, L]`` labels, finest level first, from ``[N]`` or ``[N, L]``."""
    found = host(labels)
    return found[:, None] if found.ndim == 1 else found


def finest(labels: Tensor) -> Tensor:
    """``[N]`` labels of the finest level on the CPU, from ``[N]`` or ``[N, L]``."""
    return tensor(columns(labels)[:, 0])


def equal(labels: Tensor, others: Tensor, device: torch.device) -> Tensor:
    """Bool ``[A, N]`` on the device: whether the finest of ``labels [A]`` or ``[A, L]`` are those of ``others``."""
    rows = send(finest(labels), device)
    return rows[:, None] == (rows if others is labels else send(finest(others), device))[None]


def read(numbers: Tensor) -> np.ndarray:
    """Results on the host: where a GPU is waited for."""
    return numbers.cpu().numpy()
