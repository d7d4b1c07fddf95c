"""Keeps runs beyond this machine's disk: copies them to a mounted folder, and takes them in again after a restart.

One thread of one page process does both; SQLite databases and locks stay on the local disk.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trainers.errors import RunError, UserError
from trainers.progress import interval
from trainers.runs import RunFolder, list_runs
from trainers.runs.atomic_files import is_full, sweep
from trainers.runs.copies import (
    DeletedError,
    Manifest,
    forget,
    kept_ids,
    read_manifest,
    restore,
    stamp_of,
    write_copy,
)
from trainers.runs.damage import words
from trainers.runs.lock import RunLock
from trainers.runs.records import PHASES
from trainers.runs.regular import is_regular

LOOK_SECONDS = interval(3.0)
TRAINING_SECONDS = 20.0
"""How often a run that trains is copied; one that has ended at the next look."""
LAST_SECONDS = 8.0
"""How long the copies may take that are made when the page ends; a platform kills it some ten seconds later."""
MARK = "rankscope-runs"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What the copy of a run holds: all of it, or what there was at a step; ``step`` is None where there is no copy."""

    whole: bool
    step: int | None


class Keeper:
    """Copies the runs of ``root`` to ``into``.

    Args:
        root: folder of the runs, on a local disk.
        into: on what outlives it; made if the folder that it is in is there.
        taken_in: told of each run that was made of its copy, when all are there.
    """

    def __init__(self, root: Path, into: Path, taken_in: Callable[[RunFolder], object] = lambda _: None) -> None:
        self._root = root
        self._into = into
        self._taken_in = taken_in
        self._kept: dict[str, Manifest] = {}
        self._copied: dict[str, float] = {}  # when (monotonic seconds)
        self._said: dict[str, str] = {}
        self._problem = ""
        self._begun = False
        self._made: list[RunFolder] = []
        self._lock = RunLock(root / ".keeper")
        self._writes = self._complete = False
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="keeper", daemon=True)

    def begin(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Copy what has changed since the last look, and end."""
        self._closed = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(LOOK_SECONDS + LAST_SECONDS)

    @property
    def problem(self) -> str:
        """Why runs are not kept at the moment, as a sentence; empty: they are."""
        return self._problem

    def kept(self, folder: RunFolder) -> Kept:
        """Return what would be left of a run after a restart now."""
        manifest = None if self._problem and not self._there() else self._kept.get(folder.id)
        if manifest is None:
            return Kept(whole=False, step=None)
        return Kept(whole=manifest.stamp == stamp_of(folder.path), step=manifest.step)

    def forget(self, run_id: str) -> None:
        """Delete the copy of a run, before the run itself: otherwise it would be back after a restart.

        Raises:
            RunError: it cannot be deleted now.
        """
        try:
            self._check_there()
            forget(run_id, self._into)
        except OSError as error:
            why = f"The run is not deleted: its copy cannot be ({_reason(error)}). Try again later."
            raise RunError(why) from error
        self._kept.pop(run_id, None)

    def look(self, until: float | None = None) -> None:
        """Copy what has changed since the last look; what is kept by another process is only read.

        Args:
            until: monotonic seconds after which no further copy is begun, and before which all that changed is copied.
        """
        try:
            self._check_there()
            if not self._writes:
                (self._root / ".keeper").mkdir(parents=True, exist_ok=True)
                self._writes = self._lock.acquire()
            if self._writes and not self._complete:
                self._take_in()
            for folder in list_runs(self._root):
                if until is not None and time.monotonic() > until:
                    break
                self._each(folder, self._copy if self._writes else self._read, at_once=until is not None)
            self._say("")
        except OSError as error:
            self._say(f"Runs are not kept at the moment: the folder for it {_cause(error)}.")
        except RunError as error:
            self._say(f"Runs are not kept at the moment: {error}")

    def _loop(self) -> None:
        while not self._closed:
            try:
                self.look()
            except Exception:  # whatever it is, the next look must come
                _log.exception("runs could not be copied; it is tried again")
            self._wake.wait(LOOK_SECONDS)
        try:
            self.look(time.monotonic() + LAST_SECONDS)
        finally:
            self._lock.release()

    def _there(self) -> bool:
        return is_regular(self._into / MARK)

    def _check_there(self) -> None:
        """Raise OSError if the folder has gone, say because what was mounted there no longer is."""
        if self._there():
            self._begun = True
            return
        if self._begun:
            raise FileNotFoundError(errno.ENOENT, "is no longer there")
        self._into.mkdir(exist_ok=True)
        (self._into / MARK).write_text("Copies of runs; see docs/public-pages.md of Rankscope.\n", encoding="utf-8")
        self._begun = True

    def _take_in(self) -> None:
        """Make runs of the copies that are not here: the runs of plans first, since a plan makes those it misses."""
        sweep(self._root)
        manifests = []
        for run_id in kept_ids(self._into):
            with self._apart(run_id):
                manifest = read_manifest(self._into / run_id)
                manifests += [manifest] if manifest is not None else []
        for manifest in sorted(manifests, key=lambda manifest: "part_of" not in manifest.files):
            if self._closed:
                return
            self._kept[manifest.id] = manifest
            with self._apart(manifest.id):
                folder = restore(manifest, self._into, self._root)
                self._made += [folder] if folder is not None else []
        self._complete = True
        for folder in self._made:
            self._taken_in(folder)

    @contextlib.contextmanager
    def _apart(self, run_id: str) -> Iterator[None]:
        """Pass over one run if something is wrong with it; what is wrong with the folder itself is raised."""
        try:
            yield
            self._said.pop(run_id, None)
        except DeletedError:
            self._kept.pop(run_id, None)
        except (UserError, OSError) as error:
            local = str(getattr(error, "filename", None) or "").startswith(f"{self._root}/")
            if isinstance(error, OSError) and not (local and self._there()):
                raise
            if self._said.get(run_id) != str(error):
                _log.warning("run %s is passed over: %s", run_id, error)
            self._said[run_id] = str(error)

    def _each(self, folder: RunFolder, act: Callable[[RunFolder], object], at_once: bool) -> None:
        known = self._kept.get(folder.id)
        if known is not None and known.stamp == stamp_of(folder.path):
            return
        try:
            if at_once or self._due(folder):
                with self._apart(folder.id):
                    act(folder)
        finally:
            folder.db.close()

    def _due(self, folder: RunFolder) -> bool:
        since = time.monotonic() - self._copied.get(folder.id, float("-inf"))
        if since > TRAINING_SECONDS:
            return True
        try:
            return not PHASES[folder.state().phase].active
        except RunError:
            return False

    def _copy(self, folder: RunFolder) -> None:
        self._copied[folder.id] = time.monotonic()
        self._kept[folder.id] = write_copy(folder, self._into)

    def _read(self, folder: RunFolder) -> None:
        manifest = read_manifest(self._into / folder.id)
        if manifest is not None:
            self._kept[folder.id] = manifest

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            _log.warning("%s (%s)", problem or "Runs are kept again.", self._into)
        self._problem = problem


def _cause(error: OSError) -> str:
    """Say what is wrong with the folder, without its path: any visitor reads it."""
    if is_full(error):
        return "is full"
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return "cannot be written"
    if error.errno == errno.ENOENT:
        return "is not there"
    return f"cannot be used ({_reason(error)})"


def _reason(error: OSError) -> str:
    return error.strerror or words(error)
