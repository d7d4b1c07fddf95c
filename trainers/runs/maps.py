"""Embeddings and maps of the probe: their files, their rows and their numbers in ``run.db``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trainers.runs import checked
from trainers.runs.atomic_files import as_tensor
from trainers.runs.damage import reads
from trainers.runs.database import Database
from trainers.runs.records import REFINED, Frame, FrameArm

if TYPE_CHECKING:
    from torch import Tensor


class FrameRow(NamedTuple):
    """The database's row of one arm's map; None stands for a number that is none."""

    step: int
    seconds: float
    limit: float
    quality: float | None
    drift: float | None
    method: str


def frame_row(step: object, seconds: object, limit: object, quality: object, drift: object, method: object) -> FrameRow:
    """Check the values of a row of the database.

    Raises:
        ValueError: a value is of the wrong type.
    """
    if checked.real(limit, "limit") <= 0:
        raise ValueError(f"limit needs a number above 0; got {checked.shown(limit)}")
    return FrameRow(
        checked.whole(step, "step"),
        checked.real(seconds, "seconds"),
        checked.real(limit, "limit"),
        checked.measured(quality, "quality"),
        checked.measured(drift, "drift"),
        checked.text(method, "method"),
    )


def packed_frame(frame: Frame) -> dict[str, Tensor]:
    """Pack a frame into tensors."""
    tensors: dict[str, Tensor] = {}
    for i, arm in enumerate(frame.arms):
        tensors[f"xy{i}"] = as_tensor(arm.xy, np.uint16)
        tensors[f"nn{i}"] = as_tensor(arm.neighbours, np.uint16 if len(arm.xy) < 65536 else np.int32)
    return tensors


def unpacked_frame(
    k: int, rows: Sequence[FrameRow], tensors: Mapping[str, Tensor], measures: Mapping[int, Mapping[str, float]]
) -> Frame:
    """Unpack the frame ``k`` from a row per arm, the tensors of :func:`packed_frame` and by arm its measures.

    Raises:
        ValueError, KeyError: a tensor is missing or of the wrong shape or dtype.
    """
    arms = tuple(
        FrameArm(
            xy=tensors[f"xy{i}"].numpy(),
            neighbours=tensors[f"nn{i}"].numpy().astype(np.int32),
            quality=float("nan") if row.quality is None else row.quality,
            drift=float("nan") if row.drift is None else row.drift,
            method=row.method,
            measures=dict(measures.get(i, {})),
        )
        for i, row in enumerate(rows)
    )
    points = len(arms[0].xy)
    for arm in arms:
        if arm.xy.shape != (points, 2) or arm.xy.dtype != np.uint16:
            raise ValueError(f"the maps of frame {k} have the wrong shape")
        near = arm.neighbours
        if near.ndim != 2 or len(near) != points or (near.size and not 0 <= near.min() <= near.max() < points):
            raise ValueError(f"the neighbours of frame {k} are not points of the map")
    return Frame(k=k, step=rows[0].step, seconds=rows[0].seconds, limit=rows[0].limit, arms=arms)


def unpacked_embeddings(k: int, tensors: Mapping[str, Tensor]) -> tuple[np.ndarray, ...]:
    """Unpack the embeddings of every arm, float16 ``[P, D]``, from the tensors ``arm0``, ``arm1``, ...

    Raises:
        ValueError, KeyError: a tensor is missing or of the wrong shape or dtype.
    """
    arms = tuple(tensors[f"arm{i}"].numpy() for i in range(len(tensors)))
    first = arms[0]
    if any(arm.ndim != 2 or len(arm) != len(first) or arm.dtype.kind != "f" or not arm.size for arm in arms):
        raise ValueError(f"the embeddings of snapshot {k} have the wrong shape")
    return arms


TABLES = {
    "map_measures": "(k INTEGER, arm INTEGER, key TEXT, value REAL, PRIMARY KEY (k, arm, key))",
    "map_wishes": "(k INTEGER PRIMARY KEY)",
}


class MapNumber(NamedTuple):
    """One number of the map of one arm; ``k`` is that of the frame."""

    k: int
    arm: int
    step: int
    seconds: float
    key: str
    value: float


class MapNumbers:
    """Reads and writes them; a table is made when something is first written into it.

    Args:
        db: of the run.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self.id = db.id

    @reads
    def of(self, k: int) -> dict[int, dict[str, float]]:
        """Return by arm the numbers of frame ``k``, by key."""
        numbers: dict[int, dict[str, float]] = {}
        if self._has("map_measures"):
            rows = self._db.rows("SELECT arm, key, value FROM map_measures WHERE k = ? ORDER BY arm, key", (k,))
            for arm, key, value in rows:
                number = checked.measured(value, "value")
                if number is not None:
                    numbers.setdefault(checked.whole(arm, "arm"), {})[checked.text(key, "key")] = number
        return numbers

    @reads
    def after(self, k: int = -1) -> list[MapNumber]:
        """Return the numbers of the frames beyond ``k``, oldest first, but for those whose snapshot is gone."""
        if not self._has("map_measures"):
            return []
        sql = (
            "SELECT m.k, m.arm, s.step, s.seconds, m.key, m.value FROM map_measures AS m "
            f"JOIN frames AS f ON f.k = m.k AND f.arm = m.arm JOIN snapshots AS s ON s.k = m.k % {REFINED} "
            "WHERE m.k > ? ORDER BY m.k, m.arm, m.key"
        )
        return [
            MapNumber(
                checked.whole(at, "k"),
                checked.whole(arm, "arm"),
                checked.whole(step, "step"),
                checked.real(seconds, "seconds"),
                checked.text(key, "key"),
                number,
            )
            for at, arm, step, seconds, key, value in self._db.rows(sql, (k,))
            if (number := checked.measured(value, "value")) is not None
        ]

    def write(self, frame: Frame) -> None:
        """Replace the numbers of a frame."""
        rows = [
            (frame.k, arm, key, value) for arm, each in enumerate(frame.arms) for key, value in each.measures.items()
        ]
        if self._has("map_measures"):
            self._db.write("DELETE FROM map_measures WHERE k = ?", [(frame.k,)])
        if rows:
            self._make("map_measures")
            self._db.write("INSERT OR REPLACE INTO map_measures VALUES (?, ?, ?, ?)", rows)

    def wish(self, k: int) -> None:
        """Ask for the refined map of snapshot ``k``."""
        self._make("map_wishes")
        self._db.write("INSERT OR REPLACE INTO map_wishes VALUES (?)", [(k,)])

    @reads
    def wished(self, k: int) -> bool:
        """Return whether the refined map of snapshot ``k`` was asked for."""
        return self._has("map_wishes") and bool(self._db.rows("SELECT 1 FROM map_wishes WHERE k = ?", (k,)))

    def forget(self) -> None:
        """Drop the numbers of maps that are no longer there, and every wish: the run goes on."""
        if self._has("map_measures"):
            self._db.write("DELETE FROM map_measures WHERE k NOT IN (SELECT k FROM frames)")
        if self._has("map_wishes"):
            self._db.write("DELETE FROM map_wishes")

    def _has(self, table: str) -> bool:
        return bool(self._db.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)))

    def _make(self, table: str) -> None:
        if not self._has(table):
            self._db.write(f"CREATE TABLE IF NOT EXISTS {table} {TABLES[table]}")


def pack(xy: np.ndarray, limit: float) -> np.ndarray:
    """Pack coordinates within ``-limit .. limit`` into uint16 ``[P, 2]``."""
    return np.clip(np.rint((xy / limit + 1) / 2 * 65535), 0, 65535).astype(np.uint16)


def unpack(packed: np.ndarray, limit: float) -> np.ndarray:
    """Unpack float32 ``[P, 2]`` of what :func:`pack` stored."""
    return ((packed.astype(np.float64) / 65535 * 2 - 1) * limit).astype(np.float32)
