"""Reads one run folder; all values are checked."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from torch import Tensor

from trainers.config import MAX_ARMS, RunConfig, read_config
from trainers.errors import RunError
from trainers.hierarchy import Hierarchy
from trainers.runs import checked
from trainers.runs.damage import absent, damaged, reading, reads, words
from trainers.runs.database import Database
from trainers.runs.files import read_tensors
from trainers.runs.lock import is_locked
from trainers.runs.opening import can_write
from trainers.runs.records import ACTIVE, Frame, FrameArm, Probe, RunState, Scalar
from trainers.runs.regular import check_regular, is_regular, is_there, read_regular

CONFIG_BYTES, OWNER_BYTES, SHEET_BYTES = 2**20, 200, 2**26
NOBODY = "?"  # the owner of a run whose owner cannot be read: no digest equals it


class RunReader:
    """Reads one run folder, whatever it holds.

    Every method raises nothing but :class:`trainers.errors.RunError`, with one sentence about this run; what cannot be
    wrong in a way worth a sentence (``owner``, ``is_alive``, ``size``) never raises. Only regular files are opened.

    Args:
        path: the folder; need not exist.
        read_only: it is a recording.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.id = path.name
        self.read_only = read_only
        self.db = Database(path / "run.db", read_only=read_only)
        self._arms: int | None = None

    @reads
    def check(self) -> None:
        """Raise RunError if this is no run: gone, half-deleted, damaged or of another version."""
        if not is_there(self.path):
            raise absent(self.id)
        config = self.path / "config.json"
        if self.path.is_dir() and not is_there(config):
            os.scandir(self.path).close()  # the folder may be unreadable: then that is the error
            raise damaged(self.id, "it has no configuration: it was never whole, or is half deleted")
        check_regular(config)
        self.db.check()

    @property
    def present(self) -> bool:
        """Whether the run's configuration is still where it was; it never raises."""
        return is_regular(self.path / "config.json")

    @property
    def writable(self) -> bool:
        """Whether this run can be changed here: False for recordings and in a read-only place; it never raises."""
        # a folder that cannot be listed is damaged, not read-only
        open_to_us = can_write(self.path) or not os.access(self.path, os.R_OK | os.X_OK)
        return not self.read_only and can_write(self.path.parent) and open_to_us

    @property
    def config(self) -> RunConfig:
        """The settings of the run."""
        with reading(self.id):
            content = read_regular(self.path / "config.json", CONFIG_BYTES)
        try:
            text = content.decode()
            checked.json_object(text, "config.json")
            config = read_config(text)
            if not 1 <= config.arms <= MAX_ARMS:
                raise ValueError(f"it has {config.arms} arms")
        except (ValueError, RecursionError) as error:
            raise RunError(
                f"The run {self.id} has no readable configuration: {str(error)[:300].rstrip('.')}. "
                "Delete it, or restore the missing files from a download of the run."
            ) from error
        return config

    @property
    def owner(self) -> str:
        """Digest of the owner's token; empty when anyone may control the run, ``?`` when it cannot be read."""
        try:
            return read_regular(self.path / "owner", OWNER_BYTES).decode("ascii")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError):
            return NOBODY

    def is_alive(self) -> bool:
        """Whether a trainer process holds this run."""
        return not self.read_only and is_locked(self.path)

    def state(self) -> RunState:
        """The state; a run that says it is active without a living trainer is ``interrupted``."""
        if not self.present:
            self.check()  # the database of what is no run is left alone: SQLite makes files beside it
        state = self.db.state()
        if state.phase in ACTIVE and not self.is_alive():
            return dataclasses.replace(state, phase="interrupted", message="its trainer is gone; it can be resumed")
        return state

    def size(self) -> int:
        """Bytes on disk; files that vanish while counting count nothing, and links only themselves."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118  (names may be no text)
                except OSError:
                    continue
        return total

    # --------------------------------------------------------------- control

    @reads
    def commands(self, after: int) -> list[tuple[int, str]]:
        """Commands with an id above ``after``, oldest first."""
        rows = self.db.rows("SELECT id, command FROM control WHERE id > ? ORDER BY id", (after,))
        return [(number, checked.text(command, "command")) for number, command in rows]

    # --------------------------------------------------------------- numbers

    @reads
    def scalars(self) -> list[Scalar]:
        """All scalars, in the order they were written."""
        found = self.db.metrics()[1]
        for scalar in found:
            self._check_arm(scalar.arm)
        return found

    @reads
    def metric_rows(self, after: int, most: int) -> list[tuple[int, int, int, str, float | None]]:
        """``(row, arm, step, key, value)`` of at most ``most`` scalars written after row ``after``."""
        sql = "SELECT id, arm, step, key, value FROM metrics WHERE id > ? ORDER BY id LIMIT ?"
        return [
            (row, self._check_arm(arm), checked.whole(step, "step"), *_number(key, value))
            for row, arm, step, key, value in self.db.rows(sql, (after, most))
        ]

    @reads
    def newest(self, *keys: str) -> dict[tuple[int, str], float | None]:
        """By arm and key the newest value of each of ``keys``."""
        # SQLite gives the other columns of the row that holds the maximum, so this is the newest value of each key
        marks = ", ".join("?" for _ in keys)
        sql = f"SELECT arm, key, value, MAX(id) FROM metrics WHERE key IN ({marks}) GROUP BY arm, key"
        found = [(self._check_arm(arm), *_number(key, value)) for arm, key, value, _ in self.db.rows(sql, keys)]
        return {(arm, key): value for arm, key, value in found}

    # ------------------------------------------------------- probe, snapshots

    @reads
    def probe(self) -> Probe | None:
        """The probe, or None before the data is read."""
        if not is_there(self.path / "probe.safetensors"):
            return None
        tensors, metadata = self._read(self.path / "probe.safetensors")
        about = checked.json_object(metadata["about"], "probe")
        names = about["names"]
        if not isinstance(names, list):
            raise ValueError("probe needs lists of names")
        hierarchy = Hierarchy(
            levels=checked.texts(about["levels"], "levels"),
            names=tuple(checked.texts(level, "names") for level in names),
        )
        probe = Probe(
            labels=tensors["labels"].numpy(),
            rows=tensors["rows"].numpy(),
            hierarchy=hierarchy,
            data_title=checked.text(about["data_title"], "title"),
            notes=checked.texts(about["notes"], "notes"),
            tile=checked.whole(about["tile"], "tile", 1),
            columns=checked.whole(about["columns"], "columns", 1),
            sheets=checked.whole(about["sheets"], "sheets"),
        )
        _check_probe(probe)
        return probe

    def sheet_path(self, index: int) -> Path:
        """Path of thumbnail sheet ``index``."""
        return self.path / "thumbs" / f"{index:03d}.webp"

    @reads
    def sheet(self, index: int) -> bytes:
        """Thumbnail sheet ``index``, encoded WebP."""
        if not is_there(self.sheet_path(index)):
            raise RunError(f"The run {self.id} has no thumbnail sheet {index}.")
        self._own(self.sheet_path(index))
        return read_regular(self.sheet_path(index), SHEET_BYTES)

    def frame_path(self, k: int) -> Path:
        """Path of the maps of snapshot ``k``."""
        return self._at("layout", k)

    def embeddings_path(self, k: int) -> Path:
        """Path of the embeddings of snapshot ``k``; recordings keep only a few."""
        return self._at("emb", k)

    @reads
    def snapshots(self) -> list[tuple[int, int, float]]:
        """``(k, step, seconds)`` of the snapshots, oldest first."""
        rows = self.db.rows("SELECT k, step, seconds FROM snapshots ORDER BY k")
        return [_snapshot(*row) for row in rows]

    @reads
    def announced(self, k: int) -> tuple[int, int, float] | None:
        """``(k, step, seconds)`` of snapshot ``k``, or None."""
        rows = self.db.rows("SELECT k, step, seconds FROM snapshots WHERE k = ?", (k,))
        return _snapshot(*rows[0]) if rows else None

    @reads
    def embeddings(self, k: int) -> tuple[np.ndarray, ...]:
        """Float16 ``[P, D]`` of every arm at snapshot ``k``."""
        tensors, _ = self._read(self._at("emb", k))
        arms = tuple(tensors[f"arm{i}"].numpy() for i in range(len(tensors)))
        first = arms[0]
        if any(arm.ndim != 2 or len(arm) != len(first) or arm.dtype.kind != "f" or not arm.size for arm in arms):
            raise ValueError(f"the embeddings of snapshot {k} have the wrong shape")
        return arms

    # ---------------------------------------------------------------- frames

    @reads
    def frames(self) -> list[int]:
        """Versions ``k`` of the stored frames, oldest first."""
        rows = self.db.rows("SELECT DISTINCT k FROM frames ORDER BY k")
        return [checked.whole(k, "k") for (k,) in rows]

    @reads
    def frame_steps(self, after: int = -1) -> list[tuple[int, int]]:
        """``(k, step)`` of the stored frames beyond ``after``, oldest first."""
        sql = "SELECT DISTINCT k, step FROM frames JOIN snapshots USING (k) WHERE k > ? ORDER BY k"
        return [(checked.whole(k, "k"), checked.whole(step, "step")) for k, step in self.db.rows(sql, (after,))]

    @reads
    def newest_map(self) -> int | None:
        """Version of the newest stored frame whose snapshot is there."""
        k = self.db.rows("SELECT MAX(k) FROM frames JOIN snapshots USING (k)")[0][0]
        return None if k is None else checked.whole(k, "k")

    @reads
    def newest_frame(self) -> int | None:
        """Version of the newest stored frame, whether or not its snapshot still exists."""
        k = self.db.rows("SELECT MAX(k) FROM frames")[0][0]
        return None if k is None else checked.whole(k, "k")

    @reads
    def frame_rows(self, k: int) -> list[tuple[int, float, float, float | None, float | None, str]]:
        """``(step, seconds, limit, quality, drift, method)`` of every arm at frame ``k``."""
        sql = (
            'SELECT arm, step, seconds, "limit", quality, drift, method FROM frames JOIN snapshots USING (k) '
            "WHERE k = ? ORDER BY arm"
        )
        rows = self.db.rows(sql, (k,))
        if not rows:
            raise RunError(f"The run {self.id} has no frame {k}.")
        if [row[0] for row in rows] != list(range(self._arm_count())):
            raise ValueError(f"frame {k} has other arms than the configuration")
        return [_frame_row(*row[1:]) for row in rows]

    @reads
    def frame(self, k: int) -> Frame:
        """The frame of snapshot ``k``."""
        rows = self.frame_rows(k)
        tensors, _ = self._read(self._at("layout", k))
        arms = tuple(
            FrameArm(
                xy=tensors[f"xy{i}"].numpy(),
                neighbours=tensors[f"nn{i}"].numpy().astype(np.int32),
                quality=float("nan") if row[3] is None else row[3],
                drift=float("nan") if row[4] is None else row[4],
                method=row[5],
            )
            for i, row in enumerate(rows)
        )
        _check_maps(arms, k)
        return Frame(k=k, step=rows[0][0], seconds=rows[0][1], limit=rows[0][2], arms=arms)

    # ------------------------------------------------------------ checkpoint

    def _checkpoint(self, name: str) -> tuple[dict[str, Tensor], dict[str, object]]:
        """The checkpoint ``last`` or ``previous``.

        Raises:
            RunError: it is missing or damaged.
        """
        with reading(self.id):
            tensors, metadata = self._read(self.path / "ckpt" / f"{name}.safetensors")
            about = checked.json_object(metadata["about"], "checkpoint")
            checked.whole(about["step"], "step")
            return tensors, about

    # ---------------------------------------------------------------- details

    def _arm_count(self) -> int:
        if self._arms is None:
            self._arms = self.config.arms
        return self._arms

    def _check_arm(self, arm: object) -> int:
        if checked.whole(arm, "arm") >= self._arm_count():
            raise ValueError(f"a number is of arm {arm}; the run has {self._arm_count()}, counted from 0")
        return checked.whole(arm, "arm")

    def _at(self, kind: str, k: int) -> Path:
        return self.path / kind / f"{k:06d}.safetensors"

    def _own(self, path: Path) -> None:
        """A regular file of this folder: neither it nor the folder it lies in is a link."""
        check_regular(path)
        if path.parent != self.path and path.parent.is_symlink():
            raise ValueError(f"{path.parent.name} is a link, not a folder")

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
        try:
            self._own(path)
            return read_tensors(path)
        except (OSError, SafetensorError, ValueError) as error:
            raise RunError(f"The run {self.id} lacks {path.name}, or it is damaged ({words(error)}).") from error


def _number(key: object, value: object) -> tuple[str, float | None]:
    return checked.text(key, "key"), checked.measured(value, "value")


def _snapshot(k: object, step: object, seconds: object) -> tuple[int, int, float]:
    return checked.whole(k, "k"), checked.whole(step, "step"), checked.real(seconds, "seconds")


def _frame_row(
    step: object, seconds: object, limit: object, quality: object, drift: object, method: object
) -> tuple[int, float, float, float | None, float | None, str]:
    if checked.real(limit, "limit") <= 0:
        raise ValueError(f"limit needs a number above 0; got {checked.shown(limit)}")
    return (
        checked.whole(step, "step"),
        checked.real(seconds, "seconds"),
        checked.real(limit, "limit"),
        checked.measured(quality, "quality"),
        checked.measured(drift, "drift"),
        checked.text(method, "method"),
    )


def _check_probe(probe: Probe) -> None:
    labels, tree = probe.labels, probe.hierarchy
    shaped = (
        labels.ndim == 2 and labels.shape[1] == tree.depth == len(tree.names) and probe.rows.shape == labels.shape[:1]
    )
    if not shaped or labels.dtype.kind != "i" or probe.rows.dtype.kind != "i" or not labels.size:
        raise ValueError("the labels of the probe have the wrong shape")
    if labels.min() < 0 or (labels.max(0) >= [len(names) for names in tree.names]).any() or probe.rows.min() < 0:
        raise ValueError("the probe has labels without a name")
    if probe.sheets and probe.sheets * probe.columns**2 < len(labels):
        raise ValueError("the probe has more points than thumbnails")


def _check_maps(arms: tuple[FrameArm, ...], k: int) -> None:
    points = len(arms[0].xy)
    for arm in arms:
        if arm.xy.shape != (points, 2) or arm.xy.dtype != np.uint16:
            raise ValueError(f"the maps of frame {k} have the wrong shape")
        near = arm.neighbours
        if near.ndim != 2 or len(near) != points or (near.size and not 0 <= near.min() <= near.max() < points):
            raise ValueError(f"the neighbours of frame {k} are not points of the map")
