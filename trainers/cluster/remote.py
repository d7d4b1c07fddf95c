"""Trains a run where Ray has placed it: an actor with a folder of its own, and a trainer in a process of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from trainers.cluster.packing import Files, Seen, Written, unpack, written_since
from trainers.runs import RunFolder
from trainers.training.executor import Device, ProcessExecutor


class Remote:
    """Trains one run. Ray starts it anew on another machine when its own is lost, with nothing in it.

    Its trainer holds a pipe to it, and leaves when it is gone.
    """

    def __init__(self) -> None:
        self._executor = ProcessExecutor()
        self._folder: RunFolder | None = None
        self._code: int | None = None

    def holds(self) -> bool:
        """Return whether it has a run to train, or has trained it."""
        return self._folder is not None

    def begin(self, run_id: str, files: Files, processes: int) -> Seen:
        """Have a run trained from where its files are.

        Args:
            files: as of :func:`trainers.cluster.packing.packed`.
            processes: that train it together, on the GPUs that Ray has given to this actor.

        Returns:
            how much of the folder is known already.
        """
        root = Path(tempfile.mkdtemp(prefix="rankscope-"))
        unpack(files, root)
        self._folder, self._code = RunFolder.open(root, run_id), None
        known = written_since(self._folder, Seen(), None).seen
        gpus = tuple(filter(None, os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")))
        self._executor.launch(self._folder.path, Device(gpus=gpus[:processes], processes=processes))
        return known

    def look(self, seen: Seen) -> Written:
        """Return what has been written since."""
        assert self._folder is not None
        for ended in self._executor.reap():
            self._code = ended.code
        return written_since(self._folder, seen, self._code)

    def send(self, command: str) -> None:
        """Leave a command for the trainer."""
        assert self._folder is not None
        self._folder.send(command)

    def clear(self) -> None:
        """Remove the folder, once all of it is known elsewhere."""
        self._executor.close()
        if self._folder is not None:
            self._folder.db.close()
            shutil.rmtree(self._folder.path.parent, ignore_errors=True)
