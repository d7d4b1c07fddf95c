"""One run, open for reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from trainers.config import Config
from trainers.runs import RunFolder
from trainers.runs.database import Stamp, written
from trainers.runs.records import PHASES, Probe

_MOVING = frozenset(name for name, phase in PHASES.items() if phase.moving)
T = TypeVar("T")


class Run:
    """One run folder, open for reading; keeps what never changes.

    Its database is held open for as long as somebody watches: see ``Library.close_unwatched``.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.watched = float("-inf")  # monotonic seconds
        self.id = folder.id
        self.recorded = folder.read_only
        self._config: tuple[tuple[int, int], Config] | None = None
        self._probe: Probe | None = None
        self._size: tuple[float, int] | None = None
        self._resting: dict[str, tuple[Stamp, object]] = {}

    @property
    def config(self) -> Config:
        """What was asked for; read again where it was written again, as for a plan that got more seeds."""
        try:
            about = (self.folder.path / "config.json").stat()
            stamp = (about.st_mtime_ns, about.st_size)
        except OSError:
            stamp = (0, 0)
        if self._config is None or (stamp != (0, 0) and stamp != self._config[0]):
            self._config = (stamp, self.folder.config)
        return self._config[1]

    @property
    def probe(self) -> Probe | None:
        """The points of the maps; None until the data is read."""
        probe = self._probe
        if probe is None:
            probe = self._probe = self.folder.probe()
        return probe

    def let_go(self) -> None:
        """Close the database and forget the points; both are read again when they are needed."""
        self.folder.db.close()
        self._probe = None

    def size(self, updated: float) -> int:
        """Return the bytes on disk, counted again only when ``updated`` (of the run's state) has changed."""
        if self._size is None or self._size[0] != updated:
            self._size = (updated, self.folder.size())
        return self._size[1]

    def at_rest(self, name: str, make: Callable[[], T]) -> T:
        """Return what ``make`` reads of the database; not read again before the run moves or something is written to
        it.

        Args:
            name: of what is read.
        """
        stamp = written(self.folder.path)
        known = self._resting.get(name)
        if known is not None and known[0] == stamp:
            return known[1]  # type: ignore[return-value]
        value = make()
        if self.folder.state().phase not in _MOVING:
            self._resting[name] = (stamp, value)
        return value
