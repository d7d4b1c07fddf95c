"""Advisory locks on files, which the system releases when their holder dies."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import portalocker
from portalocker import LockFlags

from trainers.runs.regular import open_handle


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
