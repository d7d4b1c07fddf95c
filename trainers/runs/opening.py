"""Opens ``run.db`` for writers, and for readers of a place that they cannot write to."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from trainers.runs.regular import check_regular, is_regular

PATIENCE = 10.0  # seconds that a writer waits for another
READ_PATIENCE = 2.0  # and a reader, for whom many others may be waiting


class OpenedDatabase:
    """A connection to a run's database.

    In a place that cannot be written, SQLite can make none of the files beside the database that it reads with. A
    database whose writer has left is then read as it lies; one with unfinished business is read through the files that
    are there, or as a copy.

    Args:
        path: of ``run.db``.
        recording: it is never written: no lock is taken and only this one file is read.
    """

    def __init__(self, path: Path, *, recording: bool = False) -> None:
        check_regular(path)
        self._path = path
        self._file = self._identity()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._known: tuple[object, ...] | None = None
        if recording:
            self.connection = _connect(path, "mode=ro&immutable=1")
        elif can_write(path.parent) and os.access(path, os.W_OK):
            self.connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
            self.connection.execute("PRAGMA synchronous=NORMAL")
        else:
            self._known = self._signature()
            self.connection = self._watching()

    def stale(self) -> bool:
        """Return whether the files are no longer those that were opened.

        A database that was taken away must not be written through the old connection: SQLite may wait for its other
        files without end.
        """
        if self._identity() != self._file:
            return True
        return self._known is not None and self._known != self._signature()

    def close(self) -> None:
        """Close the connection; a copy goes with it."""
        self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _watching(self) -> sqlite3.Connection:
        log = self._path.with_name("run.db-wal")
        if not is_regular(log) or not log.lstat().st_size:
            return _connect(self._path, "mode=ro&immutable=1")
        if is_regular(self._path.with_name("run.db-shm")):
            self._known = None  # a live writer is followed through the shared index
            return _connect(self._path, "mode=ro")
        self._copy = tempfile.TemporaryDirectory(prefix="rankscope-")
        for file in (self._path, log):
            shutil.copyfile(file, Path(self._copy.name) / file.name)
        return sqlite3.connect(Path(self._copy.name) / self._path.name, check_same_thread=False)

    def _identity(self) -> tuple[int, int] | None:
        try:
            about = self._path.lstat()
        except OSError:
            return None
        return about.st_dev, about.st_ino

    def _signature(self) -> tuple[object, ...]:
        files: list[object] = []
        for name in ("run.db", "run.db-wal", "run.db-shm"):
            try:
                about = self._path.with_name(name).lstat()
                files.append((about.st_mtime_ns, about.st_size, about.st_ino))
            except OSError:
                files.append(None)
        return tuple(files)


def can_write(folder: Path) -> bool:
    """Return whether files may be made in a folder; False on a read-only disk."""
    return os.access(folder, os.W_OK | os.X_OK)


def _connect(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, timeout=READ_PATIENCE, check_same_thread=False)
