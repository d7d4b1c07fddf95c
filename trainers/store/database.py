"""``run.db``: scalars, snapshots, frames, control and state in SQLite (WAL), shared by trainer, layout and page."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trainers.errors import DiskFullError, RunError
from trainers.store.files import is_full
from trainers.types import RunState, Scalar

VERSION = 1

_SCHEMA = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, arm INTEGER, step INTEGER, seconds REAL, key TEXT,
    value REAL);
CREATE INDEX metrics_by_step ON metrics (step);
CREATE UNIQUE INDEX metrics_once ON metrics (arm, step, key);
CREATE TABLE snapshots (k INTEGER PRIMARY KEY, step INTEGER, seconds REAL);
CREATE TABLE frames (k INTEGER, arm INTEGER, "limit" REAL, quality REAL, drift REAL, method TEXT, PRIMARY KEY (k, arm));
CREATE TABLE control (id INTEGER PRIMARY KEY AUTOINCREMENT, command TEXT, sent REAL);
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), phase TEXT, step INTEGER, seconds REAL,
    planned_steps INTEGER, message TEXT, error TEXT, updated REAL);
INSERT INTO state VALUES (1, 'queued', 0, 0, NULL, 'waiting for its turn', NULL, 0);
"""


class Database:
    """A thin, thread-safe face of ``run.db``; every call is its own short transaction.

    The connection opens on first use and is reused under a lock. WAL needs a real local disk. ``read_only`` is for
    files that nobody writes any more: they may lie on a read-only disk, and no side files appear beside them.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def create(self) -> None:
        """Write an empty database of this version."""
        connection = sqlite3.connect(self._path)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version={VERSION}")
            connection.commit()
        finally:
            connection.close()

    def check(self) -> None:
        """Raise RunError if the file is missing, damaged or of another version."""
        version = self.rows("PRAGMA user_version")[0][0]
        if version != VERSION:
            raise RunError(
                f"The run {self._path.parent.name} was written by format {version}; this program reads format "
                f"{VERSION}. Open it with the version that wrote it, or delete it."
            )

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read."""
        with self._lock:
            try:
                return self._open().execute(sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                self._close()
                raise self._damaged(error) from error

    def write(self, sql: str, batch: Iterable[tuple[Any, ...]] = ((),)) -> None:
        """Run one statement for every tuple of values, in one transaction."""
        if self._read_only:
            raise RunError(f"The run {self._path.parent.name} is a recording and cannot be changed.")
        with self._lock:
            try:
                with self._open() as connection:
                    connection.executemany(sql, list(batch))
            except sqlite3.DatabaseError as error:
                self._close()
                raise self._damaged(error) from error

    def copy_to(self, path: Path) -> None:
        """Write a consistent copy, whole in one file, while others may be writing."""
        with self._lock:
            try:
                target = sqlite3.connect(path)
                try:
                    self._open().backup(target)
                finally:
                    target.close()
            except sqlite3.DatabaseError as error:
                self._close()
                raise self._damaged(error) from error

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        with self._lock:
            self._close()

    @property
    def is_open(self) -> bool:
        """Whether it holds files open."""
        return self._connection is not None

    def state(self) -> RunState:
        """The state row."""
        row = self.rows("SELECT phase, step, seconds, planned_steps, message, error, updated FROM state")
        if not row:
            raise self._damaged("its state is missing")
        names = ("phase", "step", "seconds", "planned_steps", "message", "error", "updated")
        return RunState(**dict(zip(names, row[0], strict=True)))

    def set_state(self, state: RunState) -> None:
        """Replace the state row; ``updated`` is set to now."""
        values = (state.phase, state.step, state.seconds, state.planned_steps, state.message, state.error, time.time())
        self.write(
            "UPDATE state SET phase=?, step=?, seconds=?, planned_steps=?, message=?, error=?, updated=?", [values]
        )

    def add_metrics(self, scalars: Iterable[Scalar]) -> None:
        """Append scalars; one that is known under its arm, step and key is replaced, under a new row id."""
        rows = [(s.arm, s.step, s.seconds, s.key, s.value) for s in scalars]
        self.write("INSERT OR REPLACE INTO metrics (arm, step, seconds, key, value) VALUES (?, ?, ?, ?, ?)", rows)

    def metrics(self, after: int = 0) -> tuple[int, list[Scalar]]:
        """Scalars appended after row ``after``, the newest of each arm, step and key, and the row to continue from."""
        # runs written before such rows were unique may hold several; the other columns are those of the largest id
        columns = "MAX(id), arm, step, seconds, key, value"
        sql = f"SELECT {columns} FROM metrics WHERE id > ? GROUP BY arm, step, key ORDER BY 1"
        rows = self.rows(sql, (after,))
        found = [Scalar(arm=a, step=s, seconds=t, key=k, value=v) for _, a, s, t, k, v in rows if v is not None]
        return (rows[-1][0] if rows else after), found

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if not self._path.is_file():
                raise self._damaged("run.db is missing")
            if self._read_only:
                # immutable: no lock, no journal, no shared-memory file; a plain mode=ro still makes them in WAL
                uri = f"{self._path.resolve().as_uri()}?mode=ro&immutable=1"
                self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
                return self._connection
            # isolation None would autocommit; the default groups a batch into one transaction
            self._connection = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
            self._connection.execute("PRAGMA synchronous=NORMAL")
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _damaged(self, why: object) -> RunError:
        if isinstance(why, BaseException) and is_full(why):
            return DiskFullError()
        if isinstance(why, sqlite3.OperationalError) and "locked" in str(why):
            return RunError(f"The run {self._path.parent.name} is busy; try again in a moment.")
        return RunError(
            f"The run folder {self._path.parent.name} is incomplete or damaged ({why}). "
            "Delete it, or restore the missing files from a download of the run."
        )
