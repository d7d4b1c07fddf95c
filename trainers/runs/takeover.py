"""Repairs of a run folder by the holder of its lock, before it trains."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from trainers.runs.database import Database
from trainers.runs.scratch import sweep

_PLACES = ("", "emb", "layout", "thumbs", "ckpt")
_VITAL = ("config.json", "run.db", "lock")
_DELETING = 2.0  # seconds that somebody may need to delete a run folder


def sweep_run(path: Path) -> None:
    """Remove unfinished files of killed writers."""
    for name in _PLACES:
        sweep(path / name)
    (path / "ckpt" / "previous.tmp").unlink(missing_ok=True)


def make_durable(db: Database) -> None:
    """Flush every row written so far to the disk, so that it survives a power cut.

    Rows of the write-ahead log are safe from a crash of the program at once, but reach the disk at some later time. One
    transaction with full synchronisation takes the whole log there.
    """
    db.rows("PRAGMA synchronous=FULL")
    try:
        db.write("UPDATE state SET updated = updated")
    finally:
        db.rows("PRAGMA synchronous=NORMAL")


def clear_remains(path: Path) -> None:
    """Remove what was written into a run folder while somebody deleted it; a folder that is still a run stays.

    The deletion may be under way, and could not remove a folder that was written into meanwhile.
    """
    end = time.monotonic() + _DELETING
    while any((path / name).exists() for name in _VITAL):
        if time.monotonic() > end:
            return
        time.sleep(0.05)
    shutil.rmtree(path, ignore_errors=True)
