"""A lock that the kernel drops when its holder dies, however it dies: the proof that a trainer is alive."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

ATTEMPTS, PAUSE = 20, 0.01


class RunLock:
    """Exclusive advisory lock on a run folder's ``lock`` file, held by the one process that trains it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another process holds it. Child processes do not inherit it."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        for _ in range(ATTEMPTS):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                # a viewer that asks whether the lock is held touches it for some microseconds
                time.sleep(PAUSE)
            else:
                self._handle = handle
                return True
        os.close(handle)
        return False

    def lost(self) -> bool:
        """Whether the file that is locked is no longer the one in the folder: the run was deleted or moved away."""
        if self._handle is None:
            return True
        try:
            there = self._path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        return not os.path.samestat(there, os.fstat(self._handle))

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def is_locked(folder: Path) -> bool:
    """Whether some process holds the folder's lock."""
    try:
        handle = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # shared: any number may ask at the same time without taking each other for a trainer
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
