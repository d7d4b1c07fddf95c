"""A device without memory: it knows shapes and devices, and refuses whatever a GPU would have to be waited for.

Under :func:`fake_device` the host's tensors are real, so that labels can be sorted and counted there, and those of
``DEVICE`` are torch's fake tensors: reading one (``item``, ``tolist``, ``bool``, ``nonzero``, a boolean index,
``unique``) raises, and so do mixing them with the host's and copying between the two without ``non_blocking``. The
device is called ``meta``: torch's autograd engine asks a driver about tensors of ``cuda`` even where they are fake.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

DEVICE = torch.device("meta")


class WaitingCopyError(AssertionError):
    """A copy between host and device that the host waits for."""


class _Device(TorchDispatchMode):
    """Sends what concerns the device to torch's fake mode, and lets the host compute."""

    def __init__(self) -> None:
        super().__init__()
        self._fake = FakeTensorMode(allow_non_fake_inputs=True)

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not any(
            isinstance(part, FakeTensor) or (isinstance(part, torch.device) and part == DEVICE)
            for part in _parts(args, kwargs)
        ):
            return func(*args, **kwargs)
        with self._fake:
            found = func(*args, **kwargs)
        source = {"_to_copy": 0, "copy_": 1}.get(func.overloadpacket.__name__)
        if source is not None and not _goes_on(args, kwargs) and args[source].device != found.device:
            there = f"{found.dtype} {list(found.shape)} from {args[source].device} to {found.device}"
            raise WaitingCopyError(f"the host waits for a copy of {there}; make it non_blocking")
        return found


def _parts(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    return [one for one in tree_leaves((list(args), dict(kwargs))) if isinstance(one, (Tensor, torch.device))]


def _goes_on(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return bool(kwargs.get("non_blocking", args[2] if len(args) > 2 else False))


@contextmanager
def fake_device() -> Iterator[None]:
    """Within it, tensors of ``DEVICE`` behave as a GPU's do, without their values; see the module.

    Modules are to be built on ``DEVICE``, by ``with torch.device(DEVICE)``: torch cannot move their weights there.
    """
    optimisers, autocast = sys.modules["torch.optim.optimizer"], torch.autocast

    def known(device_type: str, *args: Any, **kwargs: Any) -> Any:
        return autocast("cpu", enabled=False) if device_type == DEVICE.type else autocast(device_type, *args, **kwargs)

    with (
        mock.patch.object(optimisers, "_get_fused_kernels_supported_devices", lambda: [DEVICE.type]),
        mock.patch.object(torch, "autocast", known),
        mock.patch.object(torch.nn.Module, "to", lambda self, *_args, **_kwargs: self),
        _Device(),
    ):
        yield
