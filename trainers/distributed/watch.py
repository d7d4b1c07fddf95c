"""Ends a process of a group whose first process has left, or whose launcher is gone."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from trainers.distributed.group import Board

BEAT_SECONDS = 0.5
LEAVE_SECONDS = 3.0  # from the first process's leaving to the end of one that waits for it in vain
SAVE_SECONDS = 60.0  # from the launcher's end to that of its processes, which write a checkpoint together meanwhile


def watch(board: Board, lost: Callable[[], None]) -> None:
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
