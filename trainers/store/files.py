"""Files that are either whole or absent: write beside, then replace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor


def write_bytes(path: Path, content: bytes) -> None:
    """Replace ``path`` with ``content`` atomically; parents are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Replace ``path`` with a safetensors file atomically. Tensors are copied to contiguous CPU memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    os.close(handle)
    try:
        # clone: safetensors refuses tensors that share storage, and tied weights do
        ready = {key: value.detach().to("cpu").clone().contiguous() for key, value in tensors.items()}
        save_file(ready, name, metadata=dict(metadata or {}))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
