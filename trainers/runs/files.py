"""Atomic file writes: write a temporary file beside the target, then replace it.

torch takes seconds to import, so it is imported where tensors are read or written: commands that list runs need none.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError, safe_open

from trainers.errors import DiskFullError
from trainers.runs.scratch import scratch, sweep

if TYPE_CHECKING:
    from torch import Tensor

PATIENCE = 5.0  # seconds; longer than a reader needs for a large file


def write_bytes(path: Path, content: bytes, *, home: Path | None = None, durable: bool = False) -> None:
    """Replace ``path`` with ``content`` atomically.

    Args:
        home: a folder that must be there; None: all parents are made. What was deleted is not to come back.
        durable: it survives a power cut once this returns.
    """
    with _beside(path, home, durable) as name:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)


def write_tensors(
    path: Path,
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    *,
    home: Path | None = None,
    durable: bool = False,
    shared: bool = False,
) -> None:
    """Replace ``path`` with a safetensors file atomically. Tensors are copied to contiguous CPU memory.

    ``home`` and ``durable`` are those of :func:`write_bytes`; with ``shared`` others may read it as the umask allows.
    """
    from safetensors.torch import save_file

    # clone: safetensors refuses tensors that share storage, and tied weights do
    ready = {key: value.detach().to("cpu").clone().contiguous() for key, value in tensors.items()}
    with _beside(path, home, durable) as name:
        if shared:
            name.touch()  # with the permissions of any new file, which safetensors may not give
            allowed = name.stat().st_mode
        save_file(ready, name, metadata=dict(metadata or {}))
        if shared:
            name.chmod(allowed)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the tensors and the metadata of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        if os.name == "nt":  # mapped from the file, which nobody can replace there as long as they live
            tensors = {key: tensor.clone() for key, tensor in tensors.items()}
        return tensors, dict(file.metadata() or {})


def as_tensor(array: Tensor | np.ndarray, dtype: type) -> Tensor:
    """Copy an array to the CPU, as a tensor of a dtype of numpy."""
    import torch

    if isinstance(array, torch.Tensor):
        array = array.detach().cpu().numpy()
    return torch.from_numpy(np.ascontiguousarray(array, dtype=dtype).copy())


def replace(path: Path, target: Path) -> None:
    """Rename a file to ``target``; on Windows this waits for readers who have the target open."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            path.replace(target)
            return
        except PermissionError:
            if time.monotonic() > end:
                raise
        time.sleep(0.02)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; Windows opens no folder, and logs names itself."""
    is_folder = path.is_dir()
    if is_folder and not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)  # Windows flushes only what may be written
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _beside(path: Path, home: Path | None, durable: bool) -> Iterator[Path]:
    """Yield a temporary file that takes the name ``path`` if the block ends well.

    Raises:
        DiskFullError: the disk is full.
        FileNotFoundError: ``home`` is gone.
    """
    try:
        if home is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            sweep(path.parent)  # a cache has no owner that would clean it, so its writers do
        elif path.parent != home:
            path.parent.mkdir(exist_ok=True)
        with scratch(path.parent) as directory:
            name = directory / f".{path.name}"  # hidden from whoever packs the folder meanwhile
            yield name
            if durable:
                sync(name)
            replace(name, path)
        if durable:
            sync(path.parent)
    except (OSError, SafetensorError) as error:
        if is_full(error):
            raise DiskFullError from error
        raise


def is_full(error: BaseException) -> bool:
    """Return whether an error of the file system, of safetensors or of SQLite says that the disk is full."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(words in str(error) for words in ("No space left", "disk is full", "os error 28"))
