"""Files that are either whole or absent: write beside, then replace."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from trainers.errors import DiskFullError


def write_bytes(path: Path, content: bytes) -> None:
    """Replace ``path`` with ``content`` atomically; parents are made."""
    with _beside(path) as name:
        name.write_bytes(content)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Replace ``path`` with a safetensors file atomically. Tensors are copied to contiguous CPU memory."""
    # clone: safetensors refuses tensors that share storage, and tied weights do
    ready = {key: value.detach().to("cpu").clone().contiguous() for key, value in tensors.items()}
    with _beside(path) as name:
        save_file(ready, name, metadata=dict(metadata or {}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    with safe_open(path, framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A temporary file that takes the name ``path`` if the block ends well.

    Raises:
        DiskFullError: there was no room.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        os.close(handle)
        try:
            yield Path(name)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, SafetensorError) as error:
        if is_full(error):
            raise DiskFullError from error
        raise


def is_full(error: BaseException) -> bool:
    """Whether an error of the file system, of safetensors or of SQLite says that the disk is full."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(words in str(error) for words in ("No space left", "disk is full", "os error 28"))
