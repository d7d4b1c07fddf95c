"""Keeps what a run has become on the machine that trained it, until it is taken: an actor that needs no processor."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from trainers.cluster.packing import Seen, Written, written_since
from trainers.runs import RunFolder
from trainers.runs.lock import is_locked
from trainers.runs.scratch import discard, held, sweep

PREFIX = "rankscope-run-"
"""What the names of folders begin with in which runs are trained, in the machine's folder for temporary files."""


def remove_abandoned(there: Path) -> None:
    """Remove the folders of processes that are gone; those stay whose trainer is about to leave."""
    for path in there.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # of somebody else, or gone meanwhile
            if not any(map(is_locked, path.iterdir())):
                sweep(there, path.stem)


class Keeper:
    """Keeps the folder of a run in a folder of its own, which is locked as long as this process lives.

    Folders of processes that are gone are removed first.

    Args:
        ended: folder of a run that has ended, and the exit status of its trainer; it is moved.
    """

    def __init__(self, ended: tuple[str, int] | None = None) -> None:
        there = Path(tempfile.gettempdir())
        remove_abandoned(there)
        self._root, self._lock = held(there, PREFIX)
        self._folder: RunFolder | None = None
        self._code: int | None = None
        if ended is not None:
            path, self._code = Path(ended[0]), ended[1]
            path.rename(self._root / path.name)
            self._folder = RunFolder.open(self._root, path.name)

    def holds(self) -> bool:
        """Return whether it has a run."""
        return self._folder is not None

    def look(self, seen: Seen) -> Written:
        """Return what has been written since."""
        return written_since(self._held(), seen, self._code)

    def send(self, command: str) -> None:
        """Leave a command for the trainer."""
        self._held().send(command)

    def clear(self) -> None:
        """Remove the folder, once all of it is known elsewhere."""
        if self._folder is not None:
            self._folder.db.close()
        discard(self._root, self._lock)

    def _held(self) -> RunFolder:
        assert self._folder is not None, "it is given a run first"
        return self._folder
