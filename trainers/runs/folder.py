"""One run on disk.

<id>/config.json            what was asked for; never changes, but that a plan may get more seeds
     run.db                 scalars, snapshots, frames, control, state
     test_queries.safetensors   metrics of every query of the final evaluation; not in every run
     untrained.safetensors  what its images show without training, and its own results on them; not in every run
     probe.safetensors      labels and rows of the probe, hierarchy in the metadata
     thumbs/000.webp        thumbnail sheets
     emb/000012.safetensors arm0, arm1, ...: float16 [P, D]
     layout/000012.safetensors  xy0, nn0, xy1, nn1, ...
     ckpt/last.safetensors  weights, optimiser state, counters (previous.safetensors: the one before)
     owner                  digest of the token that may control it, or `login` and that of an account
     label.json             its name, a note and tags, as somebody has written them, if any
     revision               commit of the Hub dataset that it reads, if any, from its first start on
     part_of                id of the plan that it belongs to, if any; below what tells it from the other runs
     processes              how many processes train it, if more than one
     tracker                where it is mirrored, and the last row of the numbers that is there, if anywhere
     plugins.json           files from outside the program that it needs, with their digests, if any
     cluster.json           which Ray cluster was given it, until all that came of it is here
     ballast                space reserved for a full disk
     log.txt                decisions and events, with their reasons
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainers.config import Config
from trainers.errors import DiskFullError, RunError
from trainers.plugins import needed, used
from trainers.plugins.record import written
from trainers.runs import checked
from trainers.runs.atomic_files import as_tensor, is_full, replace, sync, write_bytes, write_tensors
from trainers.runs.checked import is_id
from trainers.runs.damage import absent, reading
from trainers.runs.database import can_write, make_durable, sweep_run
from trainers.runs.identity import PLACE, PLUGINS, TRACKER
from trainers.runs.maps import packed_frame
from trainers.runs.probe import packed, packed_scores
from trainers.runs.reader import RunReader
from trainers.runs.records import REFINED, Frame, Probe, QueryScores, Snapshot
from trainers.runs.regular import is_regular, is_there, open_regular
from trainers.runs.untrained import Untrained, packed_untrained

if TYPE_CHECKING:
    from torch import Tensor


MAKING_SECONDS = 5.0  # a run folder gets its configuration last, after some milliseconds
BALLAST = 256 * 1024  # bytes; a state row and its journal need some tens of thousands
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, as in a ULID


def new_id() -> str:
    """Make a ULID: 48 bits of milliseconds, 80 random bits; ids sort by time and cannot be guessed."""
    number = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def created(run_id: str) -> float:
    """Return when a run was made, seconds since the epoch: the first ten letters of its id are milliseconds."""
    milliseconds = 0
    for letter in run_id[:10]:
        milliseconds = milliseconds * 32 + _ALPHABET.index(letter)
    return milliseconds / 1000


def id_within(plan: str, name: str) -> str:
    """Return the id of the run ``name`` of a plan: of the plan's own time, and the same whenever it is asked for."""
    number = int.from_bytes(hashlib.sha256(f"{plan}/{name}".encode()).digest()[:10], "big")
    return plan[:10] + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(75, -1, -5))


class RunFolder(RunReader):
    """Read and write one run. Any number of processes may hold one; only the trainer holds its lock.

    With ``read_only`` it is a recording: nothing in the folder is ever written, and nothing trains it.
    """

    # ------------------------------------------------------------------ life

    @classmethod
    def create(
        cls,
        root: Path,
        config: Config,
        owner: str = "",
        *,
        run_id: str = "",
        part_of: str = "",
        place_in_plan: str = "",
        processes: int | None = None,
        track: str = "",
    ) -> RunFolder:
        """Make a queued run.

        Args:
            owner: digest of the token that may control it; empty: anyone.
            run_id: empty: a new one. What was left half-made under it is made anew.
            part_of: id of the plan that it belongs to; empty: none.
            place_in_plan: what tells it from the other runs of its plan; of a long one only the beginning is kept.
            processes: that train it; None: as many as the settings say.
            track: name of the tracker that it is mirrored to; empty: the one that the settings say.
        """
        path = root / (run_id or new_id())
        folder = cls(path)
        try:
            if run_id and not is_there(path / "config.json"):
                shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        except OSError as error:  # what lies there is left as it is
            raise _not_made(root, error) from error
        try:
            folder.db.create()
            write_bytes(path / "owner", owner.encode(), home=path)
            if part_of:
                write_bytes(path / "part_of", f"{part_of}\n{place_in_plan[:PLACE]}".encode(errors="replace"), home=path)
            folder.set_processes(config.single.processes if processes is None else processes)
            if (tracker := track or config.single.track) != "none":
                write_bytes(path / TRACKER, tracker.encode(), home=path)
            if kept := needed(config.values(), used()):
                write_bytes(path / PLUGINS, written(kept), home=path)
            write_bytes(path / "ballast", bytes(BALLAST), home=path)
            # last: a folder without it is not a run
            write_bytes(path / "config.json", config.to_json().encode(), home=path, durable=True)
            sync(root)
        except (OSError, sqlite3.Error, RunError) as error:
            shutil.rmtree(path, ignore_errors=True)
            raise _not_made(root, error) from error
        return folder

    def set_processes(self, count: int) -> None:
        """Write down how many processes are to train this run from its next start on."""
        if count != self.processes:
            write_bytes(self.path / "processes", str(count).encode(), home=self.path)

    def note_tracked(self, row: int) -> None:
        """Write down the last row of the numbers that the tracker has."""
        write_bytes(self.path / TRACKER, f"{self.track} {row}".encode(), home=self.path)

    def pin(self, revision: str) -> None:
        """Write down the commit of the Hub dataset that this run reads, from now on."""
        write_bytes(self.path / "revision", revision.encode(), home=self.path, durable=True)

    def replace_plan(self, config: Config) -> None:
        """Write the configuration of a plan that has been extended; for the holder of its lock."""
        write_bytes(self.path / "config.json", config.to_json().encode(), home=self.path, durable=True)

    def drop_ballast(self) -> None:
        """Free the reserved space, so that a run on a full disk can still record why it ended."""
        (self.path / "ballast").unlink(missing_ok=True)

    def take_over(self) -> None:
        """Make the folder ready for a trainer; only for the holder of its lock.

        Unfinished files of killed writers go, and some disk space is reserved.
        """
        sweep_run(self.path)
        if not (self.path / "ballast").exists():
            write_bytes(self.path / "ballast", bytes(BALLAST), home=self.path)

    @classmethod
    def open(cls, root: Path, run_id: str, *, read_only: bool = False) -> RunFolder:
        """Open run ``run_id`` of ``root``; the id is checked, so it cannot name another place.

        Raises:
            RunError: no such run, half-deleted, damaged or of another version.
        """
        if not is_id(run_id):
            raise RunError(f"A run id is 26 letters and digits; got {run_id[:40]!r}.")
        folder = cls(root / run_id, read_only=read_only)
        folder.check()
        return folder

    def beside(self, run_id: str) -> RunFolder:
        """Return the run of that id in the same place, a recording if this is one; it may be absent or damaged."""
        return RunFolder(self.path.parent / run_id, read_only=self.read_only)

    def delete(self) -> None:
        """Remove the folder, whatever state it is in; of a link only the link itself.

        Raises:
            RunError: it is training, a recording, or in a read-only place.
        """
        if self.read_only:
            raise RunError(f"The run {self.id} is a recording and cannot be deleted.")
        if self.is_alive():
            raise RunError(f"The run {self.id} is training; stop it before deleting it.")
        self.db.close()
        remove(self.path)

    def log(self, line: str) -> None:
        """Append one dated line to ``log.txt``; a recording keeps its log as it is."""
        if self.read_only:
            return
        with open_regular(self.path / "log.txt") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {line}\n".encode(errors="replace"))

    # --------------------------------------------------------------- control

    def send(self, command: str) -> None:
        """Leave ``pause``, ``resume`` or ``stop`` for the trainer."""
        if command not in ("pause", "resume", "stop"):
            raise RunError(f"A command is pause, resume or stop; got {command!r}.")
        self.db.write("INSERT INTO control (command, sent) VALUES (?, ?)", [(command, time.time())])

    # ------------------------------------------------------- probe, snapshots

    def write_probe(self, probe: Probe, sheets: Iterable[bytes]) -> None:
        """Store the probe and its thumbnail sheets (encoded WebP)."""
        count = 0
        for count, sheet in enumerate(sheets, start=1):
            write_bytes(self.sheet_path(count - 1), sheet, home=self.path, durable=True)
        tensors, metadata = packed(probe, count)
        path = self.path / "probe.safetensors"
        write_tensors(path, tensors, metadata, home=self.path, durable=True)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Store embeddings, then add them to the database."""
        tensors = {f"arm{i}": as_tensor(arm, np.float16) for i, arm in enumerate(snapshot.embeddings)}
        write_tensors(self.embeddings_path(snapshot.k), tensors, home=self.path, durable=True)
        row = (snapshot.k, snapshot.step, snapshot.seconds)
        self.db.write("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", [row])

    def write_queries(self, scores: QueryScores) -> None:
        """Store the metrics of every query of the final evaluation."""
        tensors, metadata = packed_scores(scores)
        write_tensors(self.queries_path, tensors, metadata, home=self.path, durable=True)

    def write_untrained(self, record: Untrained) -> None:
        """Store the rows without training."""
        write_tensors(self.untrained_path, *packed_untrained(record), home=self.path, durable=True)

    # ---------------------------------------------------------------- frames

    def add_frame(self, frame: Frame) -> None:
        """Store a layout, then add it to the database."""
        write_tensors(self.frame_path(frame.k), packed_frame(frame), home=self.path)
        self.map_numbers.write(frame)
        rows = [(frame.k, i, frame.limit, a.quality, a.drift, a.method) for i, a in enumerate(frame.arms)]
        self.db.write("INSERT OR REPLACE INTO frames VALUES (?, ?, ?, ?, ?, ?)", rows)

    def drop_frame(self, k: int) -> None:
        """Remove a layout from the database."""
        self.db.write("DELETE FROM frames WHERE k = ?", [(k,)])

    def drop_rewound_frames(self) -> None:
        """Remove the layouts from the database whose snapshots are no longer there."""
        self.db.write(f"DELETE FROM frames WHERE k % {REFINED} NOT IN (SELECT k FROM snapshots)")

    # ------------------------------------------------------------ checkpoint

    def write_checkpoint(self, tensors: Mapping[str, Tensor], about: Mapping[str, object]) -> None:
        """Replace the last checkpoint, keeping the one before it.

        All rows written so far reach the disk first: after a power cut a checkpoint never speaks of rows that are lost,
        and rows beyond it are forgotten by :meth:`rewind`.
        """
        make_durable(self.db)
        last, previous = self.path / "ckpt" / "last.safetensors", self.path / "ckpt" / "previous.safetensors"
        if last.is_file():
            # a hard link, so that at every instant at least one whole checkpoint has the name `last`
            spare = previous.with_suffix(".tmp")
            spare.unlink(missing_ok=True)
            os.link(last, spare)
            replace(spare, previous)
            # a trainer killed at this point leaves both names on one file, and renaming one to the other does nothing
            spare.unlink(missing_ok=True)
        write_tensors(last, tensors, {"about": json.dumps(about)}, home=self.path, durable=True)

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is one; it never raises."""
        return is_regular(self.path / "ckpt" / "last.safetensors")

    def read_checkpoint(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Read the newest readable checkpoint; None: there is none."""
        for name in ("last", "previous"):
            path = self.path / "ckpt" / f"{name}.safetensors"
            if not is_there(path):
                continue
            try:
                with reading(self.id):
                    tensors, metadata = self._read(path)
                    about = checked.json_object(metadata["about"], "checkpoint")
                    checked.whole(about["step"], "step")
                    return tensors, about
            except RunError:
                with contextlib.suppress(OSError):
                    self.log(f"checkpoint {name} cannot be read; trying the one before it")
        return None

    def rewind(self, step: int) -> None:
        """Delete what was written after ``step``, because training continues from there, and a refined map."""
        self.db.write("DELETE FROM metrics WHERE step > ?", [(step,)])
        self.db.write("DELETE FROM frames WHERE k IN (SELECT k FROM snapshots WHERE step > ?)", [(step,)])
        self.db.write("DELETE FROM frames WHERE k >= ?", [(REFINED,)])
        self.db.write("DELETE FROM snapshots WHERE step > ?", [(step,)])
        self.map_numbers.forget()
        kept = {k for k, _, _ in self.snapshots()}
        for kind in ("emb", "layout"):
            for path in (self.path / kind).glob("[0-9]*.safetensors"):
                if path.stem.isdecimal() and int(path.stem) not in kept:
                    path.unlink(missing_ok=True)


def _not_made(root: Path, error: Exception) -> RunError:
    """Return the error that says why there is no run."""
    # SQLite calls a disk without room for its shared memory an input or output error
    short = isinstance(error, sqlite3.Error) and shutil.disk_usage(root).free < BALLAST
    if short or is_full(error) or isinstance(error, DiskFullError):
        return DiskFullError("Free some space, then start the run again; nothing of it was kept.")
    return error if isinstance(error, RunError) else RunError(f"A run cannot be written in {root}: {error}.")


def check_root(root: Path) -> None:
    """Check that runs can be written in a folder, which is made with the first of them; nothing of it is left.

    Raises:
        RunError: they cannot.
    """
    there = next((folder for folder in (root, *root.absolute().parents) if folder.exists()), root)
    try:
        with tempfile.TemporaryDirectory(prefix=".rankscope-", dir=there):
            pass
    except OSError as error:
        raise _not_made(root, OSError(error.errno, error.strerror)) from error


def list_runs(root: Path, *, read_only: bool = False) -> list[RunFolder]:
    """List everything named like a run under ``root``, newest first, damaged or not; reading one says what is wrong.

    What has no configuration yet and changed within the last seconds is being made or deleted, and is passed over.

    Raises:
        RunError: the folder of the runs cannot be read.
    """
    try:
        names = [entry.name for entry in os.scandir(root) if is_id(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RunError(f"The folder of the runs cannot be read: {error.strerror}.") from error
    paths = [root / name for name in sorted(names, reverse=True)]
    return [RunFolder(path, read_only=read_only) for path in paths if not in_the_making(path)]


def in_the_making(path: Path) -> bool:
    """Return whether a folder has no configuration yet and changed within seconds: a run is being made or deleted."""
    try:
        age = time.time() - path.lstat().st_mtime
        return 0 <= age < MAKING_SECONDS and path.is_dir() and not is_there(path / "config.json")
    except OSError:
        return False


ATTEMPTS = 3


def remove(path: Path) -> None:
    """Remove what has the name ``path``: a folder with all that is in it; of a link the link alone, never its target.

    Raises:
        RunError: it is not there, lies in a read-only place, or something in it cannot be removed.
    """
    try:
        mode = path.lstat().st_mode
        if not can_write(path.parent):
            raise RunError(f"The run {path.name} is in a read-only folder and cannot be deleted there.")
        if stat.S_ISDIR(mode):
            _open_up(path)
            _empty(path)
        else:
            path.unlink()
    except FileNotFoundError as error:
        raise absent(path.name) from error
    except OSError as error:
        raise RunError(f"The run {path.name} cannot be deleted: {error.strerror}. Delete it by hand.") from error


def _empty(path: Path) -> None:
    for _ in range(ATTEMPTS):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:  # a database that was closed meanwhile takes the files beside it with it
            if not path.exists():
                return
        else:
            return
    shutil.rmtree(path)


def _open_up(path: Path) -> None:
    """Make folders accessible to their owner, since others cannot be emptied."""
    with contextlib.suppress(OSError):
        path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for name in (os.path.join(folder, inner) for inner in names):  # noqa: PTH118  (names may be no text)
            if not os.path.islink(name) and not os.access(name, os.R_OK | os.W_OK | os.X_OK):  # noqa: PTH114
                with contextlib.suppress(OSError):
                    os.chmod(name, 0o700)  # noqa: PTH101
