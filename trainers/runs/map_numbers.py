"""Numbers of the maps and wishes for refined ones, in tables of ``run.db`` that folders of older versions lack."""

from __future__ import annotations

from typing import NamedTuple

from trainers.runs import checked
from trainers.runs.damage import reads
from trainers.runs.database import Database
from trainers.runs.records import REFINED, Frame

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
