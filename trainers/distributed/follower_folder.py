"""The run folder as every process but the first sees it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.config import Config
from trainers.distributed.group import Board, shared_tensors
from trainers.runs import RunFolder
from trainers.runs.config_file import read_config
from trainers.runs.database import Database
from trainers.runs.records import Probe, QueryScores, Scalar, Snapshot

if TYPE_CHECKING:
    from torch import Tensor

_RUN, _BUILT = "run", "built"
Checkpoint = tuple[dict[str, "Tensor"], dict[str, Any]] | None


def invite(folder: RunFolder, board: Board) -> None:
    """Send the other processes what they need to know of the run that this first one trains."""
    checkpoint = folder.read_checkpoint()
    about = None if checkpoint is None else checkpoint[1]
    board.put(_RUN, json.dumps({"path": str(folder.path), "config": folder.config.to_json(), "about": about}))
    if checkpoint is not None:
        shared_tensors(checkpoint[0])


def announce(folder: RunFolder, board: Board) -> None:
    """Tell the other processes of this machine that the images are decoded: they are read once, not by all at once."""
    board.put(f"{_BUILT}/{board.launch.leader}", folder.revision)


def followed(board: Board) -> FollowerFolder:
    """Wait for the run that the first process trains.

    Raises:
        LeftError: it trains none.
    """
    run = json.loads(board.wait(_RUN))
    checkpoint: Checkpoint = None if run["about"] is None else (shared_tensors(None), run["about"])
    revision = board.wait(f"{_BUILT}/0")
    if board.launch.local:
        board.wait(f"{_BUILT}/{board.launch.leader}")
    return FollowerFolder(Path(run["path"]), read_config(run["config"]), checkpoint, revision)


class FollowerFolder(RunFolder):
    """Knows what the first process sent, and writes nothing; the folder itself may be on another machine.

    Args:
        path: of the folder, by which another run beside it is found.
        config, checkpoint, revision: of the run.
    """

    def __init__(self, path: Path, config: Config, checkpoint: Checkpoint, revision: str) -> None:
        super().__init__(path, read_only=True)  # its log stays as it is
        self.db = _NoDatabase(path / "run.db", read_only=True)
        self._config, self._checkpoint, self._revision = config, checkpoint, revision

    @property
    def config(self) -> Config:
        """See :class:`RunFolder`."""
        return self._config

    @property
    def revision(self) -> str:
        """See :class:`RunFolder`."""
        return self._revision

    @property
    def part_of(self) -> str:
        """Nothing: the first process keeps the plan's books."""
        return ""

    def read_checkpoint(self) -> Checkpoint:
        """Return what was sent."""
        return self._checkpoint

    def probe(self) -> Probe | None:
        """Return nothing: the first process writes it."""
        return None

    def pin(self, revision: str) -> None:
        """Write nothing."""

    def write_probe(self, probe: Probe, sheets: Iterable[bytes]) -> None:
        """Write nothing."""

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Write nothing."""

    def write_queries(self, scores: QueryScores) -> None:
        """Write nothing."""

    def write_checkpoint(self, tensors: Mapping[str, Tensor], about: Mapping[str, object]) -> None:
        """Write nothing."""

    def rewind(self, step: int) -> None:
        """Write nothing; what was sent has been read."""
        self._checkpoint = None


class _NoDatabase(Database):
    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return []

    def write(self, sql: str, batch: Iterable[tuple[Any, ...]] = ((),)) -> None:
        pass

    def add_metrics(self, scalars: Iterable[Scalar]) -> None:
        pass
