"""Files that are whole or not there: locks, temporary folders, and writes that replace.

Atomic file writes: write a temporary file beside the target, then replace it.

torch takes seconds to import, so it is imported where tensors are read or written: commands that list runs need none.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import portalocker
from portalocker import LockFlags
from safetensors import SafetensorError, safe_open

from trainers.errors import DiskFullError
from trainers.runs.regular import open_handle

if TYPE_CHECKING:
    from torch import Tensor


def locked(path: Path, flags: int, *, shared: bool = False) -> int | None:
    """Open a regular file and lock it until :func:`release`; None where another holder forbids it at present.

    Args:
        shared: any number may hold the lock at once, but nobody an exclusive one.

    Raises:
        OSError: the file cannot be opened, or its file system has no locks.
    """
    handle = open_handle(path, flags)
    try:
        portalocker.lock(handle, LockFlags.NON_BLOCKING | (LockFlags.SHARED if shared else LockFlags.EXCLUSIVE))
    except portalocker.AlreadyLocked:
        os.close(handle)
        return None
    except portalocker.LockException as error:
        os.close(handle)
        raise OSError(errno.ENOLCK, "its file system has no locks") from error
    return handle


def release(handle: int) -> None:
    """Release a lock and close its file; closing alone leaves it to a forked process that has the file open too."""
    try:
        portalocker.unlock(handle)
    finally:
        os.close(handle)


LOCK = ".lock"
"""Name of the file that is locked as long as somebody needs the folder that it is in."""
_SUFFIX = ".tmp"
_OLD = 60.0  # seconds; what has no lock is of an earlier version, or about to get one, so its age must do


@contextlib.contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Make a new folder inside ``folder``, gone at the end.

    A file in it is locked as long as its maker lives: the system drops the lock however the maker dies, and what is not
    locked was left behind.
    """
    path, handle = held(folder)
    try:
        yield path
    finally:
        discard(path, handle)


def held(folder: Path, prefix: str = ".") -> tuple[Path, int]:
    """Make a new folder inside ``folder``; returns it and the lock in it, for :func:`discard`."""
    while True:
        path = Path(tempfile.mkdtemp(dir=folder, prefix=prefix, suffix=_SUFFIX))
        try:
            handle = locked(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except OSError:
            shutil.rmtree(path, ignore_errors=True)
            raise
        if handle is None:
            continue  # somebody sweeps it: make another one
        if path.is_dir():
            return path, handle
        release(handle)


def sweep(folder: Path, prefix: str = ".") -> None:
    """Remove what killed writers left in ``folder``, under names with a prefix; files of a live writer stay."""
    for path in folder.glob(f"{prefix}*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            if path.is_symlink():
                continue
            if (path / LOCK).exists():
                handle = locked(path / LOCK, os.O_RDWR)
                if handle is not None:
                    discard(path, handle)
            elif time.time() - path.stat().st_mtime > _OLD:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


def discard(path: Path, handle: int) -> None:
    """Remove a folder and close ``handle``, the lock in it.

    Windows removes no file that is open or mapped: there the lock goes last, and what is mapped at a later sweep.
    """
    shutil.rmtree(path, ignore_errors=True)
    release(handle)
    if os.name == "nt":
        with contextlib.suppress(OSError):
            (path / LOCK).unlink()
            path.rmdir()


PATIENCE = 5.0  # seconds; longer than a reader needs for a large file


def write_bytes(
    path: Path, content: bytes, *, home: Path | None = None, durable: bool = False, shared: bool = False
) -> None:
    """Replace ``path`` with ``content`` atomically.

    Args:
        home: a folder that must be there; None: all parents are made. What was deleted is not to come back.
        durable: it survives a power cut once this returns.
        shared: others may read it as the umask allows.
    """
    with _beside(path, home, durable) as name:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if shared else 0o600)
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

    ``home``, ``durable`` and ``shared`` are those of :func:`write_bytes`.
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
    """Yield a temporary file that takes the name ``path`` if the block ends well."""
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
