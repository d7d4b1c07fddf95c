"""A lock that the kernel releases when its holder dies; it shows whether a trainer is alive."""

from __future__ import annotations

import os
import time
from pathlib import Path

from trainers.errors import DiskFullError, RunError
from trainers.runs.atomic_files import is_full, locked, release
from trainers.runs.damage import absent, words
from trainers.runs.database import can_write
from trainers.runs.regular import is_at

ATTEMPTS, PAUSE = 20, 0.01


class RunLock:
    """Exclusive advisory lock on a run folder's ``lock`` file, held by the one process that trains it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another process holds it. Child processes do not inherit it.

        Raises:
            RunError: the run is gone, or its lock is no file or cannot be made.
        """
        run_id = self._path.parent.name
        try:
            for _ in range(ATTEMPTS):
                self._handle = locked(self._path, os.O_RDWR | os.O_CREAT)
                if self._handle is not None:
                    return True
                # a viewer that asks whether the lock is held touches it for some microseconds
                time.sleep(PAUSE)
        except FileNotFoundError as error:
            raise absent(run_id) from error
        except OSError as error:
            if not can_write(self._path.parent):
                raise RunError(
                    f"The run {run_id} is in a read-only folder; it can be watched but not trained."
                ) from error
            if is_full(error):
                raise DiskFullError from error
            raise RunError(
                f"The lock of run {run_id} cannot be taken ({words(error)}). Delete `lock` in its folder."
            ) from error
        return False

    def lost(self) -> bool:
        """Return whether the locked file is no longer the one in the folder: the run was deleted or moved away."""
        return self._handle is None or not is_at(self._path, self._handle)

    def release(self) -> None:
        """Release the lock; nothing happens if it is not held."""
        if self._handle is not None:
            release(self._handle)
            self._handle = None


def is_locked(folder: Path) -> bool:
    """Return whether a process holds the folder's lock; False if the lock is not a file. It never raises."""
    try:
        # shared: any number may ask at the same time without taking each other for a trainer
        handle = locked(folder / "lock", os.O_RDONLY, shared=True)
    except (OSError, ValueError):
        return False
    if handle is None:
        return True
    release(handle)
    return False
