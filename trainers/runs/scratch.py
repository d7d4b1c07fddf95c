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
    """A new folder inside ``folder``, gone at the end.

    It is locked as long as its maker lives: the kernel drops the lock however the maker dies, and what is not locked
    was left behind.
    """
    place, handle = _locked(folder)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what killed writers left in ``folder``; files of a live writer stay."""
    for place in folder.glob(f".*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            handle = os.open(place, _LOOK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if place.is_dir():
                    shutil.rmtree(place, ignore_errors=True)
                elif time.time() - place.stat().st_mtime > _OLD:
                    place.unlink()
            finally:
                os.close(handle)


def _locked(folder: Path) -> tuple[Path, int]:
    while True:
        place = Path(tempfile.mkdtemp(dir=folder, prefix=".", suffix=_SUFFIX))
        with contextlib.suppress(FileNotFoundError):  # swept before it was locked: make another one
            handle = os.open(place, _LOOK)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if place.is_dir():
                return place, handle
            os.close(handle)
