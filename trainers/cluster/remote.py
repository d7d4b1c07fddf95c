"""Trains a run where Ray has placed it: an actor with a folder of its own, and a trainer in a process of its own."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from trainers.cluster.address import NAMESPACE
from trainers.cluster.holding import keeper_name
from trainers.cluster.packing import Files, Seen, Update, unpack, written_since
from trainers.runs import RunFolder
from trainers.runs.atomic_files import discard, held, sweep
from trainers.runs.lock import is_locked
from trainers.training.executor import Device, ProcessExecutor

PREFIX = "rankscope-run-"
"""What the names of folders begin with in which runs are trained, in the machine's folder for temporary files."""


def remove_abandoned(there: Path) -> None:
    """Remove the folders of processes that are gone; those stay whose trainer is about to leave."""
    for path in there.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # of somebody else, or gone meanwhile
            if not any(map(is_locked, path.iterdir())):
                sweep(there, path.stem)


class Keeper:
    """Keeps the folder of a run in a folder of its own, which is locked as long as this process lives.

    Folders of processes that are gone are removed first.

    Args:
        ended: folder of a run that has ended, and the exit status of its trainer; it is moved.
    """

    def __init__(self, ended: tuple[str, int] | None = None) -> None:
        there = Path(tempfile.gettempdir())
        remove_abandoned(there)
        self._root, self._lock = held(there, PREFIX)
        self._folder: RunFolder | None = None
        self._code: int | None = None
        if ended is not None:
            path, self._code = Path(ended[0]), ended[1]
            path.rename(self._root / path.name)
            self._folder = RunFolder.open(self._root, path.name)

    def holds(self) -> bool:
        """Return whether it has a run."""
        return self._folder is not None

    def look(self, seen: Seen) -> Update:
        """Return what has been written since."""
        return written_since(self._held(), seen, self._code)

    def send(self, command: str) -> None:
        """Leave a command for the trainer."""
        self._held().send(command)

    def clear(self) -> None:
        """Remove the folder, once all of it is known elsewhere."""
        if self._folder is not None:
            self._folder.db.close()
        discard(self._root, self._lock)

    def _held(self) -> RunFolder:
        assert self._folder is not None, "it is given a run first"
        return self._folder


LINGER_SECONDS = 60.0
"""So long an actor that trains nothing keeps its processors and GPUs while nobody asks it anything."""
KEEPER_SECONDS = 120.0
"""Until then the process of a keeper has started."""


class Remote(Keeper):
    """Trains one run. Ray starts it anew on another machine when its own is lost, with nothing in it.

    Its trainer holds a pipe to it, and leaves when it is gone. Once the trainer has ended and nobody has asked for
    ``linger`` seconds, a :class:`Keeper` on the same machine gets the folder, and this actor leaves.

    Args:
        name: of this actor: the id of the run.
    """

    def __init__(self, name: str, linger: float = LINGER_SECONDS) -> None:
        super().__init__()
        self._executor = ProcessExecutor()
        self._name, self._linger = name, linger
        self._turn = threading.RLock()
        self._asked = time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, files: Files, processes: int) -> Seen | None:
        """Have the run trained from where its files are; None: it is being trained already.

        Args:
            files: as of :func:`trainers.cluster.packing.packed`.
            processes: that train it together, on the GPUs that Ray has given to this actor.

        Returns:
            how much of the folder is known already.
        """
        with self._answering():
            if self._folder is not None:
                return None
            unpack(files, self._root)
            folder = RunFolder.open(self._root, self._name)
            known = written_since(folder, Seen(), None).seen
            gpus = tuple(filter(None, os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")))
            self._executor.launch(folder.path, Device(gpus=gpus[:processes], processes=processes))
            self._folder = folder
            return known

    def look(self, seen: Seen) -> Update:
        """Return what has been written since."""
        with self._answering():
            self._reap()
            return super().look(seen)

    def clear(self) -> None:
        """Remove the folder, once all of it is known elsewhere."""
        with self._answering():
            self._executor.close()
            super().clear()

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        with self._turn:
            yield
            self._asked = time.monotonic()

    def _reap(self) -> None:
        for ended in self._executor.reap():
            self._code = ended.code

    def _watch(self) -> None:
        while True:
            time.sleep(min(self._linger, 5.0))
            with self._turn:
                self._reap()
                trains = self._folder is not None and self._code is None
                if not trains and time.monotonic() - self._asked > self._linger:
                    with contextlib.suppress(Exception):  # tried again: until then it keeps everything
                        self._leave()

    def _leave(self) -> None:
        """Give the folder of a run that has ended to a keeper on this machine, and end this actor for good."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if self._folder is not None:
            self._folder.db.close()
            here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            keeper = (
                ray.remote(Keeper)
                .options(
                    name=keeper_name(self._name),
                    namespace=NAMESPACE,
                    lifetime="detached",
                    get_if_exists=True,
                    num_cpus=0,
                    scheduling_strategy=here,
                )
                .remote((str(self._folder.path), self._code))
            )
            ray.get(keeper.holds.remote(), timeout=KEEPER_SECONDS)  # type: ignore[attr-defined]  # an actor's method
        super().clear()
        ray.kill(ray.get_actor(self._name, namespace=NAMESPACE), no_restart=True)
