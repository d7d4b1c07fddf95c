"""Reads the numbers, the probe and the maps of one run folder; all values are checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trainers.errors import RunError
from trainers.runs import checked
from trainers.runs.damage import reads
from trainers.runs.identity import RunIdentity
from trainers.runs.maps import FrameRow, MapNumbers, frame_row, unpacked_embeddings, unpacked_frame
from trainers.runs.probe import unpacked, unpacked_scores
from trainers.runs.records import REFINED, STAGE, Frame, Probe, QueryScores, Scalar, refined, snapshot_of
from trainers.runs.regular import is_there, read_regular
from trainers.runs.untrained import Untrained, unpacked_untrained

SHEET_BYTES = 2**26


class RunReader(RunIdentity):
    """Reads one run folder, whatever it holds; see :class:`trainers.runs.identity.RunIdentity`."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        self.map_numbers = MapNumbers(self.db)

    # --------------------------------------------------------------- control

    @reads
    def commands(self, after: int) -> list[tuple[int, str]]:
        """Return the commands with an id above ``after``, oldest first."""
        rows = self.db.rows("SELECT id, command FROM control WHERE id > ? ORDER BY id", (after,))
        return [(number, checked.text(command, "command")) for number, command in rows]

    # --------------------------------------------------------------- numbers

    @reads
    def scalars(self) -> list[Scalar]:
        """Return all scalars in the order of writing: of an arm, step and key the newest, none that is not-a-number."""
        # a database from elsewhere may hold several; the other columns are those of the largest id
        sql = "SELECT arm, step, seconds, key, value, MAX(id) FROM metrics GROUP BY arm, step, key ORDER BY 6"
        return [
            Scalar(
                arm=self._check_arm(arm),
                step=checked.whole(step, "step"),
                seconds=checked.real(seconds, "seconds"),
                key=checked.text(key, "key"),
                value=value,
            )
            for arm, step, seconds, key, stored, _ in self.db.rows(sql)
            if (value := checked.measured(stored, "value")) is not None
        ]

    @reads
    def metric_rows(self, after: int, most: int) -> list[tuple[int, int, int, str, float | None]]:
        """Return ``(row, arm, step, key, value)`` of at most ``most`` scalars written after row ``after``."""
        sql = "SELECT id, arm, step, key, value FROM metrics WHERE id > ? ORDER BY id LIMIT ?"
        return [
            (row, self._check_arm(arm), checked.whole(step, "step"), *_number(key, value))
            for row, arm, step, key, value in self.db.rows(sql, (after, most))
        ]

    @reads
    def last_row(self) -> int:
        """Return the row of the scalar that was written last; 0: there is none."""
        return checked.whole(self.db.rows("SELECT COALESCE(MAX(id), 0) FROM metrics")[0][0], "row")

    @reads
    def keys(self) -> list[str]:
        """List the keys of all scalars."""
        rows = self.db.rows("SELECT DISTINCT key FROM metrics")
        return [checked.text(key, "key") for (key,) in rows]

    @reads
    def curves(self, key: str) -> dict[int, list[tuple[int, float]]]:
        """Return by arm the steps and values of a key, in the order of the steps."""
        sql = "SELECT arm, step, value, MAX(id) FROM metrics WHERE key = ? GROUP BY arm, step ORDER BY step"
        found: dict[int, list[tuple[int, float]]] = {}
        for arm, step, stored, _ in self.db.rows(sql, (key,)):
            if (value := checked.measured(stored, "value")) is not None:
                found.setdefault(self._check_arm(arm), []).append((checked.whole(step, "step"), value))
        return found

    @reads
    def newest(self, *keys: str) -> dict[tuple[int, str], float | None]:
        """Return by arm and key the newest value of each of ``keys``."""
        # SQLite gives the other columns of the row that holds the maximum, so this is the newest value of each key
        marks = ", ".join("?" for _ in keys)
        sql = f"SELECT arm, key, value, MAX(id) FROM metrics WHERE key IN ({marks}) GROUP BY arm, key"
        rows = [(self._check_arm(arm), *_number(key, value)) for arm, key, value, _ in self.db.rows(sql, keys)]
        return {(arm, key): value for arm, key, value in rows}

    @reads
    def stages(self) -> dict[str, int]:
        """Return the first step of every stage that has begun, by its title, in order; empty: the run has one stage."""
        sql = "SELECT key, MIN(step) FROM metrics WHERE arm = 0 AND key LIKE ? GROUP BY key ORDER BY MIN(step), value"
        rows = self.db.rows(sql, (f"{STAGE}%",))
        return {checked.text(key, "key").removeprefix(STAGE): checked.whole(step, "step") for key, step in rows}

    # ------------------------------------------------------- probe, snapshots

    @reads
    def probe(self) -> Probe | None:
        """Read the probe; None before the data is read."""
        if not is_there(self.path / "probe.safetensors"):
            return None
        tensors, metadata = self._read(self.path / "probe.safetensors")
        return unpacked(tensors, metadata)

    @property
    def queries_path(self) -> Path:
        """Path of the results per query; folders of older versions, other kinds and unfinished runs have none."""
        return self.path / "test_queries.safetensors"

    @reads
    def test_queries(self) -> QueryScores | None:
        """Read the metrics of every query of the final evaluation; None where they were not kept."""
        if not is_there(self.queries_path):
            return None
        tensors, metadata = self._read(self.queries_path)
        return unpacked_scores(tensors, metadata, self._arm_count())

    @property
    def untrained_path(self) -> Path:
        """Path of the rows without training; folders of older versions and runs without images have none."""
        return self.path / "untrained.safetensors"

    @reads
    def untrained(self) -> Untrained | None:
        """Read the rows without training; None where they are not kept."""
        if not is_there(self.untrained_path):
            return None
        return unpacked_untrained(*self._read(self.untrained_path), self._arm_count())

    def sheet_path(self, index: int) -> Path:
        """Return the path of thumbnail sheet ``index``."""
        return self.path / "thumbs" / f"{index:03d}.webp"

    @reads
    def sheet(self, index: int) -> bytes:
        """Read thumbnail sheet ``index``, encoded WebP."""
        if not is_there(self.sheet_path(index)):
            raise RunError(f"The run {self.id} has no thumbnail sheet {index}.")
        self._within(self.sheet_path(index))
        return read_regular(self.sheet_path(index), SHEET_BYTES)

    def frame_path(self, k: int) -> Path:
        """Return the path of the maps ``k``."""
        return self.path / "layout" / f"{k:06d}.safetensors"

    def embeddings_path(self, k: int) -> Path:
        """Return the path of the embeddings of snapshot ``k``, or that of a refined map; recordings keep only a few."""
        return self.path / "emb" / f"{snapshot_of(k):06d}.safetensors"

    @reads
    def snapshots(self) -> list[tuple[int, int, float]]:
        """Return ``(k, step, seconds)`` of the snapshots, oldest first."""
        rows = self.db.rows("SELECT k, step, seconds FROM snapshots ORDER BY k")
        return [_snapshot(*row) for row in rows]

    @reads
    def announced(self, k: int) -> tuple[int, int, float] | None:
        """Return ``(k, step, seconds)`` of snapshot ``k``, or None."""
        rows = self.db.rows("SELECT k, step, seconds FROM snapshots WHERE k = ?", (k,))
        return _snapshot(*rows[0]) if rows else None

    @reads
    def embeddings(self, k: int) -> tuple[np.ndarray, ...]:
        """Read the embeddings of every arm at snapshot ``k``, float16 ``[P, D]``."""
        tensors, _ = self._read(self.embeddings_path(k))
        return unpacked_embeddings(k, tensors)

    # ---------------------------------------------------------------- frames

    @reads
    def frames(self) -> list[int]:
        """Return the versions ``k`` of the stored frames, oldest first, without a refined one."""
        rows = self.db.rows("SELECT DISTINCT k FROM frames WHERE k < ? ORDER BY k", (REFINED,))
        return [checked.whole(k, "k") for (k,) in rows]

    @reads
    def frame_steps(self, after: int = -1) -> list[tuple[int, int]]:
        """Return ``(k, step)`` of the stored frames beyond ``after``, oldest first, without a refined one."""
        sql = "SELECT DISTINCT k, step FROM frames JOIN snapshots USING (k) WHERE k > ? ORDER BY k"
        return [(checked.whole(k, "k"), checked.whole(step, "step")) for k, step in self.db.rows(sql, (after,))]

    @reads
    def refined_frame(self) -> tuple[int, int] | None:
        """Return ``(k, step)`` of the refined map of the newest frame; None where there is none."""
        newest = self.newest_map()
        if newest is None:
            return None
        rows = self.db.rows("SELECT 1 FROM frames WHERE k = ?", (refined(newest),))
        step = self.announced(newest)
        return (refined(newest), step[1]) if rows and step is not None else None

    @reads
    def newest_map(self) -> int | None:
        """Return the version of the newest stored frame whose snapshot is there, without a refined one."""
        k = self.db.rows("SELECT MAX(k) FROM frames JOIN snapshots USING (k)")[0][0]
        return None if k is None else checked.whole(k, "k")

    @reads
    def newest_frame(self) -> int | None:
        """Return the version of the newest stored frame without a refined one, whether or not its snapshot still
        exists.
        """
        k = self.db.rows("SELECT MAX(k) FROM frames WHERE k < ?", (REFINED,))[0][0]
        return None if k is None else checked.whole(k, "k")

    @reads
    def frame_numbers(self, after: int = -1) -> list[tuple[int, int, float, int, float | None, float | None]]:
        """Return ``(k, step, seconds, arm, quality, drift)`` of the frames beyond ``after``, a refined one last."""
        sql = (
            "SELECT f.k, step, seconds, arm, quality, drift FROM frames AS f "
            f"JOIN snapshots AS s ON s.k = f.k % {REFINED} WHERE f.k > ? ORDER BY f.k, arm"
        )
        return [
            (
                checked.whole(k, "k"),
                checked.whole(step, "step"),
                checked.real(seconds, "seconds"),
                self._check_arm(arm),
                checked.measured(quality, "quality"),
                checked.measured(drift, "drift"),
            )
            for k, step, seconds, arm, quality, drift in self.db.rows(sql, (after,))
        ]

    @reads
    def frame_rows(self, k: int) -> list[FrameRow]:
        """Return a row per arm of frame ``k``."""
        sql = (
            'SELECT arm, step, seconds, "limit", quality, drift, method FROM frames AS f '
            f"JOIN snapshots AS s ON s.k = f.k % {REFINED} WHERE f.k = ? ORDER BY arm"
        )
        rows = self.db.rows(sql, (k,))
        if not rows:
            raise RunError(f"The run {self.id} has no frame {k}.")
        if [row[0] for row in rows] != list(range(self._arm_count())):
            raise ValueError(f"frame {k} has other arms than the configuration")
        return [frame_row(*row[1:]) for row in rows]

    @reads
    def frame(self, k: int) -> Frame:
        """Read the frame ``k``."""
        rows = self.frame_rows(k)
        tensors, _ = self._read(self.frame_path(k))
        return unpacked_frame(k, rows, tensors, self.map_numbers.of(k))


def _number(key: object, value: object) -> tuple[str, float | None]:
    return checked.text(key, "key"), checked.measured(value, "value")


def _snapshot(k: object, step: object, seconds: object) -> tuple[int, int, float]:
    return checked.whole(k, "k"), checked.whole(step, "step"), checked.real(seconds, "seconds")
