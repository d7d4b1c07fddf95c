"""``run.db``: opened, written and read in SQLite (WAL), and repaired by the holder of its lock."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trainers.errors import RunError
from trainers.runs import checked
from trainers.runs.atomic_files import sweep
from trainers.runs.damage import damaged, reads
from trainers.runs.records import PHASES, RunState, Scalar
from trainers.runs.regular import check_regular, is_regular

Stamp = tuple[tuple[str, int, int], ...]
"""Names, times (ns) and sizes of the files of a run's database."""

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
    """Thread-safe access to ``run.db``; every call is its own short transaction.

    The connection opens on first use and is reused under a lock. WAL needs a real local disk. ``read_only`` is for
    files that nobody writes any more: they may lie on a read-only disk, and no side files appear beside them.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.id = path.parent.name
        self._path = path
        self._read_only = read_only
        self._lock = threading.Lock()
        self._opened: OpenedDatabase | None = None
        self.on_open: Callable[[], object] = lambda: None
        """Called after every opening."""

    def create(self) -> None:
        """Write an empty database of this version."""
        with contextlib.closing(sqlite3.connect(self._path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version={VERSION}")
            connection.commit()

    @reads
    def check(self) -> None:
        """Raise RunError if the file is missing, damaged or of another version."""
        version = self.rows("PRAGMA user_version")[0][0]
        if version != VERSION:
            raise RunError(
                f"The run {self.id} was written by format {version}; this program reads format "
                f"{VERSION}. Open it with the version that wrote it, or delete it."
            )
        missing = _columns() - set(self.rows(_COLUMNS))
        if missing:
            raise damaged(self.id, f"run.db lacks {', '.join('.'.join(column) for column in sorted(missing))}")

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read. Values may be of any type: SQLite does not enforce column types."""
        with self._connected(READ_PATIENCE) as connection:
            return connection.execute(sql, values).fetchall()

    def write(self, sql: str, batch: Iterable[tuple[Any, ...]] = ((),)) -> None:
        """Run one statement for every tuple of values, in one transaction."""
        if self._read_only:
            raise RunError(f"The run {self.id} is a recording and cannot be changed.")
        if self._path.parent.is_dir() and not can_write(self._path.parent):
            raise RunError(f"The run {self.id} is in a read-only folder; it can be watched but not changed.")
        with self._connected(PATIENCE) as connection, connection:
            connection.executemany(sql, list(batch))

    def copy_to(self, path: Path) -> None:
        """Write a consistent copy in one file, even while others are writing."""
        with self._connected(READ_PATIENCE) as connection, contextlib.closing(sqlite3.connect(path)) as target:
            connection.backup(target)

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        with self._lock:
            self._close()

    @property
    def is_open(self) -> bool:
        """Whether it holds files open."""
        return self._opened is not None

    @reads
    def state(self) -> RunState:
        """Read the state row."""
        rows = self.rows("SELECT phase, step, seconds, planned_steps, message, error, updated FROM state")
        if not rows:
            raise damaged(self.id, "its state is missing")
        phase, step, seconds, planned, message, error, updated = rows[0]
        if phase not in PHASES:
            raise ValueError(f"its phase needs one of {', '.join(PHASES)}; got {checked.shown(phase)}")
        return RunState(
            phase=phase,
            step=checked.whole(step, "step"),
            seconds=checked.real(seconds, "seconds"),
            planned_steps=None if planned is None else checked.whole(planned, "planned steps"),
            message=checked.text(message, "message"),
            error=None if error is None else checked.text(error, "error"),
            updated=checked.real(updated, "updated"),
        )

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

    @contextlib.contextmanager
    def _connected(self, patience: float) -> Iterator[sqlite3.Connection]:
        """Yield the connection, locked; close it after an error, which becomes one about this run."""
        with self._lock:
            try:
                yield self._open(patience)
            except (sqlite3.Error, OSError) as error:
                self._close()
                raise damaged(self.id, error) from error

    def _open(self, patience: float) -> sqlite3.Connection:
        if self._opened is not None and self._opened.stale():
            self._close()
        if self._opened is None:
            if not self._path.exists():
                raise damaged(self.id, "run.db is missing")
            self._opened = OpenedDatabase(self._path, recording=self._read_only)
            self.on_open()
        connection = self._opened.connection
        connection.execute(f"PRAGMA busy_timeout={round(1000 * patience)}")
        return connection

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None


_COLUMNS = """
SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
WHERE tables.type = 'table'
"""


@functools.cache
def _columns() -> frozenset[tuple[str, str]]:
    """Return the table and column of everything that a database of this version has."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return frozenset(connection.execute(_COLUMNS))


def schema(further: Mapping[str, str] = MappingProxyType({})) -> frozenset[tuple[str, ...]]:
    """Return tables and indices of a database of this version, as :func:`schema_of` does.

    Args:
        further: definitions of tables that may be there beside the others, by name.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "run.db")
        database.create()
        for table, columns in further.items():
            database.write(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
        database.close()
        return schema_of(Path(folder) / "run.db")


def schema_of(path: Path) -> frozenset[tuple[str, ...]]:
    """Return kind, name and definition of everything in a database that nobody writes.

    Raises:
        RunError: it is none, is damaged, or its tables hold what contradicts them.
    """
    try:
        check_regular(path)
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as opened:
            opened.execute("PRAGMA trusted_schema=OFF")
            if (said := opened.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
                raise damaged(path.parent.name, said)
            rows = opened.execute("SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master").fetchall()
            return frozenset(tuple(map(str, row)) for row in rows)
    except (sqlite3.Error, OSError, ValueError) as error:
        raise damaged(path.parent.name, error) from error


def written(path: Path) -> Stamp:
    """Return a stamp that differs after every write to a run: times (ns) and sizes of its database and journal, where
    they hold anything.

    An empty journal does not count: reading alone makes one.
    """
    stamps = []
    for name in ("run.db", "run.db-wal"):
        with contextlib.suppress(OSError):
            about = (path / name).stat()
            if about.st_size:
                stamps.append((name, about.st_mtime_ns, about.st_size))
    return tuple(stamps)


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
