"""ZeroGPU, the hardware of Spaces that lends a GPU to one call of a function, for some seconds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_lent = False


def on_zerogpu() -> bool:
    """Return whether this program runs on ZeroGPU, where PyTorch tells every process of the page of a GPU."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def without_gpu() -> bool:
    """Return whether the GPU that PyTorch tells of cannot be used: on ZeroGPU, while it is not lent to this process."""
    return on_zerogpu() and not _lent


@contextlib.contextmanager
def lent() -> Iterator[None]:
    """Mark that this process has been lent a GPU."""
    global _lent
    before, _lent = _lent, True
    try:
        yield
    finally:
        _lent = before
