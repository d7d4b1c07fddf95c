"""A process that trains a run beside the first one, which alone has clock, commands and run folder."""

from __future__ import annotations

import math
import signal
import sys
import time
import traceback
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from trainers.config import Config
from trainers.distributed.follower_folder import announce, followed
from trainers.distributed.group import Board, LeftError, highest, lost_another
from trainers.distributed.watch import watch
from trainers.errors import UserError
from trainers.registry import importing

LoopOf = Callable[[Config], Callable[..., Any]]


class Word(IntEnum):
    """What the processes do next; the highest word of all counts."""

    TRAIN = 0
    WAIT = 1
    LEAVE = 2


class Follower:
    """Takes part in the training of the run that the first process names."""

    def __init__(self, board: Board, loop_of: LoopOf) -> None:
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
                time.sleep(1.0)
            if self._board.has_left:
                return 0
            if lost_another(error):
                return 1
            self._board.fail(self._sentence(error))
        except RuntimeError:  # nobody answers any more
            return 1
        print(f"process {self._board.launch.rank}:", file=sys.stderr)
        traceback.print_exc()
        return 1

    def _sentence(self, error: Exception) -> str:
        said = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        return f"Process {self._board.launch.rank}: {said}"


def follow(board: Board, loop_of: LoopOf) -> int:
    """Train beside the first process; returns the exit status.

    Args:
        loop_of: returns the training loop of a configuration.
    """
    follower = Follower(board, loop_of)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: follower.leave())
    watch(board, follower.leave)
    return follower.run()
