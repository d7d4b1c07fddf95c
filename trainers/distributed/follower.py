"""A process that trains a run beside the first one, which alone has clock, commands and run folder."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers import plugins
from trainers.config import Config
from trainers.devices.device import memory_ran_out
from trainers.distributed.group import LeftError, Notices, highest, lost_another, shared_tensors
from trainers.errors import UserError
from trainers.plugins.record import written
from trainers.progress import interval
from trainers.registry import importing
from trainers.runs import RunFolder
from trainers.runs.database import Database
from trainers.runs.identity import read_config
from trainers.runs.records import Probe, QueryScores, Scalar, Snapshot

if TYPE_CHECKING:
    from torch import Tensor

_RUN, _BUILT = "run", "built"
Checkpoint = tuple[dict[str, "Tensor"], dict[str, Any]] | None


def invite(folder: RunFolder, board: Notices) -> None:
    """Send the other processes what they need to know of the run that this first one trains."""
    checkpoint = folder.read_checkpoint()
    about = None if checkpoint is None else checkpoint[1]
    run = {"path": str(folder.path), "config": folder.config.to_json(), "about": about}
    board.put(_RUN, json.dumps(run | {"plugins": written(folder.plugins).decode()}))
    if checkpoint is not None:
        shared_tensors(checkpoint[0])


def announce(folder: RunFolder, board: Notices) -> None:
    """Tell the other processes of this machine that the images are decoded: they are read once, not by all at once."""
    board.put(f"{_BUILT}/{board.launch.leader}", folder.revision)


def followed(board: Notices) -> FollowerFolder:
    """Wait for the run that the first process trains.

    Raises:
        LeftError: it trains none.
    """
    run = json.loads(board.wait(_RUN))
    checkpoint: Checkpoint = None if run["about"] is None else (shared_tensors(None), run["about"])
    revision = board.wait(f"{_BUILT}/0")
    if board.launch.local:
        board.wait(f"{_BUILT}/{board.launch.leader}")
    kept = plugins.recorded(run["plugins"].encode())
    return FollowerFolder(Path(run["path"]), read_config(run["config"]), checkpoint, revision, kept)


class FollowerFolder(RunFolder):
    """Knows what the first process sent, and writes nothing; the folder itself may be on another machine.

    Args:
        path: of the folder, by which another run beside it is found.
        config, checkpoint, revision, kept: of the run; ``kept`` is what it needs from outside the program.
    """

    def __init__(
        self, path: Path, config: Config, checkpoint: Checkpoint, revision: str, kept: tuple[plugins.Needed, ...]
    ) -> None:
        super().__init__(path, read_only=True)  # its log stays as it is
        self.db = _NoDatabase(path / "run.db", read_only=True)
        self._config, self._checkpoint, self._revision, self._kept = config, checkpoint, revision, kept

    @property
    def config(self) -> Config:
        """See :class:`RunFolder`."""
        return self._config

    @property
    def revision(self) -> str:
        """See :class:`RunFolder`."""
        return self._revision

    @property
    def plugins(self) -> tuple[plugins.Needed, ...]:
        """See :class:`RunFolder`."""
        return self._kept

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


BEAT_SECONDS = interval(0.5)
LEAVE_SECONDS = 3.0  # from the first process's leaving to the end of one that waits for it in vain
SAVE_SECONDS = 60.0  # from the launcher's end to that of its processes, which write a checkpoint together meanwhile


def watch(board: Notices, lost: Callable[[], None]) -> None:
    """Watch the notices in a thread; ``lost`` is called when nobody answers any more, to leave in order."""

    def wait() -> None:
        while True:
            time.sleep(BEAT_SECONDS)
            try:
                left = board.has_left
            except RuntimeError:  # the launcher, or the first process, answered the questions
                lost()
                time.sleep(SAVE_SECONDS)
                os._exit(1)
            if left and board.launch.rank:
                time.sleep(LEAVE_SECONDS)
                os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


LoopOf = Callable[[Config], Callable[..., Any]]


class Word(IntEnum):
    """What the processes do next; the highest word of all counts."""

    TRAIN = 0
    WAIT = 1
    LEAVE = 2


class Follower:
    """Takes part in the training of the run that the first process names."""

    def __init__(self, board: Notices, loop_of: LoopOf) -> None:
        self._board = board
        self._loop_of = loop_of
        self._leave = False

    def run(self) -> int:
        """Train until the first process leaves; returns the exit status."""
        try:
            self._train()
        except LeftError:
            return 0
        except Exception as error:
            return self._failed(error)
        return 0

    def leave(self) -> None:
        """Ask that all leave together; safe from other threads and signal handlers."""
        self._leave = True

    def _train(self) -> None:
        folder = followed(self._board)
        try:
            plugins.check(folder.plugins)
            with importing():
                loop = self._loop_of(folder.config)
            trainer = loop(folder, lambda _text, _fraction: self._look())
        except LeftError:
            raise
        except Exception as error:  # the first process waits for this one
            if not lost_another(error):
                self._board.ready(self._sentence(error))
            raise
        announce(folder, self._board)
        self._board.ready()
        more = True
        while more:
            while (word := highest(Word.LEAVE if self._leave else Word.TRAIN)) == Word.WAIT:
                pass
            if word == Word.LEAVE:
                return
            more = trainer.advance(math.inf)
        trainer.finish(lambda _text, _fraction: self._look())

    def _look(self) -> None:
        """End the set-up or the scoring if the first process has left."""
        if self._board.has_left:
            raise LeftError

    def _failed(self, error: Exception) -> int:
        """Tell why; nothing is wrong here if the first process left, or another failed, in the middle of a step."""
        try:
            if lost_another(error):
                return int(not self._board.leaves_soon())
            if self._board.has_left:
                return 0
            self._board.fail(self._sentence(error))
        except RuntimeError:  # nobody answers any more
            return 1
        print(f"process {self._board.launch.rank}:", file=sys.stderr)
        traceback.print_exc()
        return 1

    def _sentence(self, error: Exception) -> str:
        known = str(error) if isinstance(error, UserError) else memory_ran_out(error)
        said = known or f"{type(error).__name__}: {error}"
        return f"Process {self._board.launch.rank}: {said}"


def follow(board: Notices, loop_of: LoopOf) -> int:
    """Train beside the first process; returns the exit status.

    Args:
        loop_of: returns the training loop of a configuration.
    """
    follower = Follower(board, loop_of)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: follower.leave())
    watch(board, follower.leave)
    return follower.run()
