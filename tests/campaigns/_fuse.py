"""Real trainers in processes of their own that are killed at a chosen file operation or database statement.

They are forked from a process that has imported everything, so that hundreds of them start within minutes.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import sys
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

FILES = frozenset({"open", "os.rename", "os.remove", "os.link", "os.mkdir"})
_connect = sqlite3.connect
OFTEN = 0.05  # seconds between checkpoints, so that a run of a second has several

_processes = multiprocessing.get_context("forkserver")
# torch._dynamo: torch imports it at an optimiser's first step, which takes longer than the whole run
_processes.set_forkserver_preload(
    [
        "trainers.worker",
        "trainers.kinds.metric_learning.loop",
        "trainers.kinds.contrastive.loop",
        "trainers.losses",
        "trainers.data",
        "torch._dynamo",
    ]
)


def trainer(folder: Path, note: Path, fuse: int | None = None) -> ForkServerProcess:
    """Start the trainer of a run folder.

    Args:
        note: is given the moments that were reached, as a JSON list of words; see :class:`Fuse`.
        fuse: number of the event at which it ends, as by ``kill -9``; None: not by itself.
    """
    process = _processes.Process(target=_train, args=(str(folder), str(note), fuse), daemon=True)
    process.start()
    return process


class Fuse:
    """Counts what a trainer does in its folder, names the moment it is in, and kills the process at its number.

    The words are start, probe, first snapshot, later snapshot, training, checkpoint, finish, and resume until a resumed
    run trains again.
    """

    def __init__(self, folder: str, note: str, number: int | None) -> None:
        self._folder, self._note, self._number = folder, note, number
        self._resumed = (Path(folder) / "ckpt" / "last.safetensors").exists()
        self._snapshots = 0
        self._finishing = self._running = False
        self.moments: list[str] = []

    def hook(self, event: str, values: tuple[Any, ...]) -> None:
        """An audit hook."""
        if event in FILES and isinstance(values[0], (str, os.PathLike)):
            path = os.fspath(values[0])
            if isinstance(path, str) and path.startswith(f"{self._folder}/"):
                self._count(path[len(self._folder) + 1 :])

    def connect(self, *values: Any, **options: Any) -> sqlite3.Connection:
        """In place of :func:`sqlite3.connect`."""
        connection = _connect(*values, **options)
        connection.set_trace_callback(self.statement)
        return connection

    def statement(self, sql: str) -> None:
        """A database statement is about to be executed."""
        self._running |= "'running'" in sql
        self._finishing |= "scoring the whole test set" in sql
        self._snapshots += "INTO snapshots" in sql
        self._count(sql)

    def _count(self, what: str) -> None:
        self.moments.append(self._moment(what))
        if self._number is not None and len(self.moments) > self._number:
            self.write()
            os.kill(os.getpid(), signal.SIGKILL)

    def _moment(self, what: str) -> str:
        if self._finishing:
            return "finish"
        if self._resumed and not self._running:
            return "resume"
        if what.startswith("ckpt/"):
            return "checkpoint"
        if what.startswith("emb/") or "snapshots" in what:
            return "first snapshot" if self._snapshots <= 1 else "later snapshot"
        if what.startswith(("thumbs/", "probe")) or ("INTO metrics" in what and not self._snapshots):
            return "probe"
        return "training" if self._running else "start"

    def write(self) -> None:
        """Leave the moments for whoever started this."""
        Path(self._note).write_text(json.dumps(self.moments))


def _train(folder: str, note: str, number: int | None) -> None:
    from trainers import worker
    from trainers.training import loop

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nobody holds the other end: a pipe would end it
    os.dup2(os.open(f"{note}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)  # its last words
    loop.CHECKPOINT_SECONDS = OFTEN
    fuse = Fuse(folder, note, number)
    sys.addaudithook(fuse.hook)
    sqlite3.connect = fuse.connect  # type: ignore[assignment]
    code = worker.main([folder])
    fuse.write()
    os._exit(code)
