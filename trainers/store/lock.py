"""A lock that the kernel drops when its holder dies, however it dies: the proof that a trainer is alive."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class RunLock:
    """Exclusive advisory lock on a run folder's ``lock`` file, held by the one process that trains it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another process holds it. Child processes do not inherit it."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def is_locked(folder: Path) -> bool:
    """Whether some process holds the folder's lock."""
    probe = RunLock(folder)
    if not (folder / "lock").exists():
        return False
    if probe.acquire():
        probe.release()
        return False
    return True
