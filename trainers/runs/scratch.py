"""Temporary folders for unfinished files; the next trainer removes those of a killed writer."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trainers.runs.file_lock import locked, release

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
