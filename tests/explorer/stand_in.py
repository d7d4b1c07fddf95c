"""A trainer of a few lines that keeps the real contract: it takes the lock, writes states, obeys commands and the pipe.

``python stand_in.py RUN_FOLDER SECONDS`` trains for SECONDS; ``dies`` in place of the number ends before it begins.
It imports nothing of ours, so that it starts in no time.
"""

from __future__ import annotations

import fcntl
import os
import select
import sqlite3
import stat
import sys
import time
from pathlib import Path


class StandIn:
    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path / "run.db", timeout=10, isolation_level=None)
        self.step = 0
        self.heard = self.db.execute("SELECT COALESCE(MAX(id), 0) FROM control").fetchone()[0]

    def tell(self, phase: str) -> None:
        values = (phase, self.step, self.step * 0.02)
        self.db.execute("UPDATE state SET phase=?, step=MAX(step, ?), seconds=?, message='', error=NULL", values)

    def commands(self) -> list[str]:
        rows = self.db.execute("SELECT id, command FROM control WHERE id > ?", (self.heard,)).fetchall()
        self.heard = max([self.heard, *(number for number, _ in rows)])
        return [command for _, command in rows]

    def train(self, seconds: float, leashed: bool) -> str:
        end, phase = time.monotonic() + seconds, "running"
        while time.monotonic() < end:
            for command in self.commands():
                if command == "stop":
                    return "stopped"
                phase = "paused" if command == "pause" else "running"
            if leashed and select.select([0], [], [], 0)[0] and not os.read(0, 1):
                return "interrupted"
            self.step += phase == "running"
            self.tell(phase)
            time.sleep(0.02)
        return "finished"


def main(path: Path, how: str) -> int:
    if how == "dies":
        print("CUDA driver version is insufficient")
        return 1
    handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o644)
    with os.fdopen(handle, "rb+", buffering=0) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 1
        trainer = StandIn(path)
        trainer.tell(trainer.train(float(how), stat.S_ISFIFO(os.fstat(0).st_mode)))
        trainer.db.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
