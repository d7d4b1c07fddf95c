"""One run on disk.

<id>/config.json            what was asked for; never changes
     run.db                 scalars, snapshots, frames, control, state
     probe.safetensors      labels and rows of the probe, hierarchy in the metadata
     thumbs/000.webp        thumbnail sheets
     emb/000012.safetensors arm0, arm1, ...: float16 [P, D]
     layout/000012.safetensors  xy0, nn0, xy1, nn1, ...
     ckpt/last.safetensors  weights, optimiser state, counters (previous.safetensors: the one before)
     ballast                room kept back for a full disk
     log.txt                decisions and events, with their reasons
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from trainers.errors import DiskFullError, RunError, UserError
from trainers.store.database import Database
from trainers.store.files import is_full, read_tensors, sync, write_bytes, write_tensors
from trainers.store.lock import is_locked
from trainers.store.takeover import make_durable, make_unique, sweep_run
from trainers.types import ACTIVE, Frame, FrameArm, Hierarchy, Probe, RunConfig, RunState, Scalar, Snapshot

BALLAST = 256 * 1024  # bytes; a state row and its journal need some tens of thousands
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, as in a ULID
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def new_id() -> str:
    """A ULID: 48 bits of milliseconds, 80 random bits; ids sort by time and cannot be guessed."""
    number = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def is_id(text: str) -> bool:
    """Whether ``text`` has the form of a run id, and so cannot name another place."""
    return _ID.fullmatch(text) is not None


class RunFolder:
    """Read and write one run. Any number of processes may hold one; only the trainer holds its lock.

    With ``read_only`` it is a recording: nothing in the folder is ever written, and nothing trains it.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.id = path.name
        self.read_only = read_only
        self.db = Database(path / "run.db", read_only=read_only)

    # ------------------------------------------------------------------ life

    @classmethod
    def create(cls, root: Path, config: RunConfig, owner: str = "") -> RunFolder:
        """Make a queued run. ``owner``: digest of the token that may control it; empty: anyone."""
        path = root / new_id()
        folder = cls(path)
        try:
            path.mkdir(parents=True)
            folder.db.create()
            write_bytes(path / "owner", owner.encode(), home=path)
            write_bytes(path / "ballast", bytes(BALLAST), home=path)
            # last: a folder without it is not a run
            write_bytes(path / "config.json", config.to_json().encode(), home=path, durable=True)
            sync(root)
        except (OSError, sqlite3.Error, RunError) as error:
            shutil.rmtree(path, ignore_errors=True)
            if isinstance(error, RunError):
                raise
            raise (
                DiskFullError() if is_full(error) else RunError(f"A run cannot be written in {root}: {error}.")
            ) from error
        return folder

    def drop_ballast(self) -> None:
        """Free the little room kept back, so that a run on a full disk can still say why it ended."""
        (self.path / "ballast").unlink(missing_ok=True)

    def keep_ballast(self) -> None:
        """Keep some room back."""
        if not (self.path / "ballast").exists():
            write_bytes(self.path / "ballast", bytes(BALLAST), home=self.path)

    def take_over(self) -> None:
        """Make the folder ready for a trainer; only for the holder of its lock.

        Unfinished files of killed writers go, repeated numbers of older versions go, and some room is kept back.
        """
        sweep_run(self.path)
        make_unique(self.db)
        self.keep_ballast()

    @classmethod
    def open(cls, root: Path, run_id: str, *, read_only: bool = False) -> RunFolder:
        """Open run ``run_id`` of ``root``; the id is checked, so it cannot name another place.

        Raises:
            RunError: no such run, half-deleted, damaged or of another version.
        """
        if not is_id(run_id):
            raise RunError(f"A run id is 26 letters and digits; {run_id[:40]!r} came.")
        folder = cls(root / run_id, read_only=read_only)
        if not (folder.path / "config.json").is_file():
            raise RunError(f"There is no run {run_id}; it may have been deleted.")
        folder.db.check()
        return folder

    @property
    def config(self) -> RunConfig:
        """What was asked for."""
        try:
            return RunConfig.from_json((self.path / "config.json").read_text())
        except (OSError, UserError) as error:
            raise RunError(f"The run {self.id} has no readable configuration: {error}") from error

    @property
    def owner(self) -> str:
        """Digest of the owner's token; empty when anyone may control the run."""
        try:
            return (self.path / "owner").read_text()
        except OSError:
            return ""

    def is_alive(self) -> bool:
        """Whether a trainer process holds this run."""
        return not self.read_only and is_locked(self.path)

    def state(self) -> RunState:
        """The state; a run that says it is active without a living trainer is ``interrupted``."""
        state = self.db.state()
        if state.phase in ACTIVE and not self.is_alive():
            return dataclasses.replace(state, phase="interrupted", message="its trainer is gone; it can be resumed")
        return state

    def size(self) -> int:
        """Bytes on disk; files that vanish while counting count nothing."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with contextlib.suppress(OSError):
                    total += (Path(folder) / name).stat().st_size
        return total

    def delete(self) -> None:
        """Remove the folder.

        Raises:
            RunError: it is training, or a recording.
        """
        if self.read_only:
            raise RunError(f"The run {self.id} is a recording and cannot be deleted.")
        if self.is_alive():
            raise RunError(f"The run {self.id} is training; stop it before deleting it.")
        self.db.close()
        shutil.rmtree(self.path)

    def log(self, line: str) -> None:
        """Append one dated line to ``log.txt``; a recording keeps its log as it is."""
        if self.read_only:
            return
        with (self.path / "log.txt").open("a") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {line}\n")

    # --------------------------------------------------------------- control

    def send(self, command: str) -> None:
        """Leave ``pause``, ``resume`` or ``stop`` for the trainer."""
        if command not in ("pause", "resume", "stop"):
            raise RunError(f"A command is pause, resume or stop; {command!r} came.")
        self.db.write("INSERT INTO control (command, sent) VALUES (?, ?)", [(command, time.time())])

    def commands(self, after: int) -> list[tuple[int, str]]:
        """Commands with an id above ``after``, oldest first."""
        return [(row[0], row[1]) for row in self.db.rows("SELECT id, command FROM control WHERE id > ?", (after,))]

    # ------------------------------------------------------- probe, snapshots

    def write_probe(self, probe: Probe, sheets: Iterable[bytes]) -> None:
        """Store the probe and its thumbnail sheets (encoded WebP)."""
        count = 0
        for count, sheet in enumerate(sheets, start=1):
            write_bytes(self.sheet_path(count - 1), sheet, home=self.path, durable=True)
        about = {
            "levels": probe.hierarchy.levels,
            "names": probe.hierarchy.names,
            "data_title": probe.data_title,
            "notes": probe.notes,
            "tile": probe.tile,
            "columns": probe.columns,
            "sheets": count,
        }
        arrays = {"labels": _tensor(probe.labels, np.int32), "rows": _tensor(probe.rows, np.int64)}
        path = self.path / "probe.safetensors"
        write_tensors(path, arrays, {"about": json.dumps(about)}, home=self.path, durable=True)

    def probe(self) -> Probe | None:
        """The probe, or None before the data is read."""
        if not (self.path / "probe.safetensors").is_file():
            return None
        tensors, metadata = self._read(self.path / "probe.safetensors")
        about = json.loads(metadata["about"])
        hierarchy = Hierarchy(levels=tuple(about["levels"]), names=tuple(tuple(level) for level in about["names"]))
        return Probe(
            labels=tensors["labels"].numpy(),
            rows=tensors["rows"].numpy(),
            hierarchy=hierarchy,
            data_title=about["data_title"],
            notes=tuple(about["notes"]),
            tile=about["tile"],
            columns=about["columns"],
            sheets=about["sheets"],
        )

    def sheet_path(self, index: int) -> Path:
        """Where thumbnail sheet ``index`` lies."""
        return self.path / "thumbs" / f"{index:03d}.webp"

    def frame_path(self, k: int) -> Path:
        """Where the maps of snapshot ``k`` lie."""
        return self._at("layout", k)

    def embeddings_path(self, k: int) -> Path:
        """Where the embeddings of snapshot ``k`` lie; recordings keep only a few."""
        return self._at("emb", k)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Store embeddings, then announce them."""
        tensors = {f"arm{i}": _tensor(e, np.float16) for i, e in enumerate(snapshot.embeddings)}
        write_tensors(self._at("emb", snapshot.k), tensors, home=self.path, durable=True)
        row = (snapshot.k, snapshot.step, snapshot.seconds)
        self.db.write("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", [row])

    def snapshots(self, after: int = -1) -> list[tuple[int, int, float]]:
        """``(k, step, seconds)`` of the snapshots beyond ``after``, oldest first."""
        rows = self.db.rows("SELECT k, step, seconds FROM snapshots WHERE k > ? ORDER BY k", (after,))
        return [(int(k), int(step), float(seconds)) for k, step, seconds in rows]

    def embeddings(self, k: int) -> tuple[np.ndarray, ...]:
        """Float16 ``[P, D]`` of every arm at snapshot ``k``."""
        tensors, _ = self._read(self._at("emb", k))
        return tuple(tensors[f"arm{i}"].numpy() for i in range(len(tensors)))

    # ---------------------------------------------------------------- frames

    def add_frame(self, frame: Frame) -> None:
        """Store a layout, then announce it."""
        tensors: dict[str, Tensor] = {}
        for i, arm in enumerate(frame.arms):
            tensors[f"xy{i}"] = _tensor(arm.xy, np.uint16)
            tensors[f"nn{i}"] = _tensor(arm.neighbours, np.uint16 if len(arm.xy) < 65536 else np.int32)
        write_tensors(self._at("layout", frame.k), tensors, home=self.path)
        rows = [(frame.k, i, frame.limit, a.quality, a.drift, a.method) for i, a in enumerate(frame.arms)]
        self.db.write("INSERT OR REPLACE INTO frames VALUES (?, ?, ?, ?, ?, ?)", rows)

    def frames(self, after: int = -1) -> list[int]:
        """Versions ``k`` of the stored frames beyond ``after``, oldest first."""
        return [int(row[0]) for row in self.db.rows("SELECT DISTINCT k FROM frames WHERE k > ? ORDER BY k", (after,))]

    def frame(self, k: int) -> Frame:
        """The frame of snapshot ``k``."""
        sql = (
            'SELECT step, seconds, "limit", quality, drift, method FROM frames JOIN snapshots USING (k) '
            "WHERE k = ? ORDER BY arm"
        )
        rows = self.db.rows(sql, (k,))
        if not rows:
            raise RunError(f"The run {self.id} has no frame {k}.")
        tensors, _ = self._read(self._at("layout", k))
        arms = tuple(
            FrameArm(
                xy=tensors[f"xy{i}"].numpy(),
                neighbours=tensors[f"nn{i}"].numpy().astype(np.int32),
                quality=row[3],
                drift=row[4],
                method=row[5],
            )
            for i, row in enumerate(rows)
        )
        return Frame(k=k, step=rows[0][0], seconds=rows[0][1], limit=rows[0][2], arms=arms)

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
            spare.replace(previous)
        write_tensors(last, tensors, {"about": json.dumps(about)}, home=self.path, durable=True)

    def read_checkpoint(self) -> tuple[dict[str, Tensor], dict[str, object]] | None:
        """The newest readable checkpoint, or None."""
        for name in ("last", "previous"):
            path = self.path / "ckpt" / f"{name}.safetensors"
            if path.is_file():
                try:
                    tensors, metadata = read_tensors(path)
                    return tensors, json.loads(metadata["about"])
                except (SafetensorError, OSError, KeyError, ValueError):
                    self.log(f"checkpoint {name} cannot be read; trying the one before it")
        return None

    def rewind(self, step: int) -> None:
        """Forget what was written after ``step``, because training goes on from there."""
        self.db.write("DELETE FROM metrics WHERE step > ?", [(step,)])
        self.db.write("DELETE FROM frames WHERE k IN (SELECT k FROM snapshots WHERE step > ?)", [(step,)])
        self.db.write("DELETE FROM snapshots WHERE step > ?", [(step,)])
        kept = {k for k, _, _ in self.snapshots()}
        for kind in ("emb", "layout"):
            for path in (self.path / kind).glob("[0-9]*.safetensors"):
                if path.stem.isdecimal() and int(path.stem) not in kept:
                    path.unlink(missing_ok=True)

    def scalars(self) -> list[Scalar]:
        """All scalars, in the order they were written."""
        return self.db.metrics()[1]

    def _at(self, kind: str, k: int) -> Path:
        return self.path / kind / f"{k:06d}.safetensors"

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
        try:
            return read_tensors(path)
        except (OSError, SafetensorError) as error:
            raise RunError(f"The run {self.id} lacks {path.name} or it is damaged: {error}") from error


def list_runs(root: Path, *, read_only: bool = False) -> list[RunFolder]:
    """The runs under ``root``, newest first; folders that are not runs are passed over."""
    if not root.is_dir():
        return []
    paths = [path for path in root.iterdir() if is_id(path.name) and (path / "config.json").is_file()]
    return [RunFolder(path, read_only=read_only) for path in sorted(paths, reverse=True)]


def _tensor(array: object, dtype: type) -> Tensor:
    if isinstance(array, Tensor):
        array = array.detach().cpu().numpy()
    return torch.from_numpy(np.ascontiguousarray(array, dtype=dtype).copy())
