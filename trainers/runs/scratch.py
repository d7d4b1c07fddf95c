"""Temporary folders for unfinished files; the next trainer removes those of a killed writer."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trainers.runs.regular import SAFELY

_SUFFIX = ".tmp"
_OLD = 60.0  # seconds; unfinished files of earlier versions have no lock, so their age must do
_LOOK = os.O_RDONLY | SAFELY


@contextlib.contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Make a new folder inside ``folder``, gone at the end.

    It is locked as long as its maker lives: the kernel drops the lock however the maker dies, and what is not locked
    was left behind.
    """
    path, handle = _locked(folder)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what killed writers left in ``folder``; files of a live writer stay."""
    for path in folder.glob(f".*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            handle = os.open(path, _LOOK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif time.time() - path.stat().st_mtime > _OLD:
                    path.unlink()
            finally:
                os.close(handle)


def _locked(folder: Path) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(dir=folder, prefix=".", suffix=_SUFFIX))
        with contextlib.suppress(FileNotFoundError):  # swept before it was locked: make another one
            handle = os.open(path, _LOOK)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if path.is_dir():
                return path, handle
            os.close(handle)
