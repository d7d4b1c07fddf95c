"""Stands for a trainer on another machine: ``python -m trainers.cluster.proxy RUN_FOLDER``.

Whoever looks at the run sees a trainer: its lock is held, its folder grows, commands are heard. If this process dies,
the run trains on; the next one that is started for it finds it by its id and catches up.
"""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from trainers.cluster.address import connected
from trainers.cluster.holding import actor_of, cluster_with, forget, has_record, read_record, write_record
from trainers.cluster.packing import APPENDED, WRITTEN, Seen, Update, packed
from trainers.cluster.remote import Remote
from trainers.errors import DiskFullError, RunError, UserError, brief
from trainers.kinds import kind_of
from trainers.progress import interval
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.lock import RunLock
from trainers.runs.records import PHASES
from trainers.runs.regular import open_regular


def rewind(folder: RunFolder) -> None:
    """Make a folder what its trainer makes of it: without what was written after its checkpoint. Only for the holder of
    its lock.
    """
    folder.take_over()
    checkpoint = folder.read_checkpoint()
    folder.rewind(0 if checkpoint is None else checkpoint[1]["step"])


def write(folder: RunFolder, written: Update, *, afresh: bool = False) -> None:
    """Write what a trainer elsewhere has written since: files first, then the rows that tell of them, its state last.

    Args:
        afresh: all of it is there once more, so that the log here is replaced.

    Raises:
        RunError: the folder cannot be written, or the state is none.
        OSError: a file of it cannot be.
    """
    if written.state.phase not in PHASES:
        raise RunError(f"The cluster sent {written.state.phase!r:.40} as the state of run {folder.id}, which is none.")
    for name, content in sorted(written.files.items(), reverse=True):  # the previous checkpoint before the last
        if WRITTEN.fullmatch(name):
            write_bytes(folder.path / name, content, home=folder.path, durable=name.startswith("ckpt"))
    for name, tail in ((name, tail) for name, tail in written.tails.items() if name in APPENDED):
        if afresh:
            write_bytes(folder.path / name, tail, home=folder.path)
            continue
        with open_regular(folder.path / name) as file:
            file.write(tail)
    folder.db.add_metrics(written.numbers)
    folder.db.write("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", written.snapshots)
    folder.db.set_state(written.state)


LOOK_SECONDS = interval(1.0)
FULL_SECONDS = interval(5.0)
"""Between two looks while the disk here is full."""
ATTEMPTS = 3
"""How often in a row an actor is asked for that dies before it has a run."""
PLACING = "waiting for its turn on the cluster, for"
LOST = "its machine was lost; it goes on from the last checkpoint that came from there"


class LeaveError(Exception):
    """Somebody asks this process to end."""


class Proxy:
    """Has one run trained by an actor of the cluster, and writes what comes of it into its folder here.

    Args:
        folder: the run; its lock is held.
        ray: the module, connected.
    """

    def __init__(self, folder: RunFolder, ray: Any) -> None:
        self.folder, self._ray = folder, ray
        self._address = str(ray.get_runtime_context().gcs_address)
        self._begun = self._empty = self._afresh = False
        self._seen = Seen()
        self._heard = max((number for number, _ in folder.commands(0)), default=0)
        config = folder.config.single
        self._processes = kind_of(config).processes(config, folder.processes)
        self._gpus = self._processes if config.device != "cpu" and ray.cluster_resources().get("GPU") else 0
        self._actor: Any = None

    def run(self) -> int:
        """Follow the run to its end; returns the exit status of its trainer.

        Raises:
            UserError: the run cannot be read or written here, or not be trained there.
            LeaveError: it was asked to end; the run trains on, unless it had not begun.
        """
        more = not PHASES[self.folder.db.state().phase].active  # not only to be followed again
        self._tell(f"{PLACING} {f'{self._gpus} GPUs of one machine' if self._gpus else 'a processor'}")
        died = 0
        while True:
            try:
                known = self._begin()
                while (code := self._look()) is None:
                    died, known = 0, False
                    self._pass_commands()
                    time.sleep(LOOK_SECONDS)
                self._end()
                if known and more and self.folder.db.state().phase != "finished":
                    more = False  # what had come of it is here now, and it goes on
                    continue
                return code
            except self._ray.exceptions.RayTaskError as error:  # also an OSError, of a file there
                raise UserError(f"The run cannot be trained or read on its machine: {brief(error.cause)}") from error
            except self._ray.exceptions.RayActorError as error:
                died += not isinstance(error, self._ray.exceptions.ActorUnavailableError)  # it starts elsewhere
                if died > ATTEMPTS:
                    raise UserError(f"The machines of the cluster cannot train it: {brief(error)}") from error
                self._empty = True
                self._hear_stop()
                time.sleep(LOOK_SECONDS)
            except DiskFullError as error:
                self._log(f"{error} The run trains on; it is tried again.")
                time.sleep(FULL_SECONDS)

    def leave(self) -> None:
        """Take the run back if it has not begun, and free its slot; otherwise it trains on."""
        if self._empty:
            self._ray.kill(self._actor, no_restart=True)
            forget(self.folder)
            self._tell("taken back before it began", phase="stopped")

    def take_rest(self) -> None:
        """Take all of a run that has finished from this cluster, if it was there: it may keep it still."""
        self._actor, known = actor_of(self._ray, self.folder.id), read_record(self.folder)
        if self._actor is None and known is not None and known.address != self._address:
            return
        with contextlib.suppress(self._ray.exceptions.RayActorError):  # its machine is lost, as nothing of the run is
            if self._actor is not None and self._wait(self._actor.holds.remote()):
                self._afresh = True
                while self._look() is None:
                    time.sleep(LOOK_SECONDS)
        self._end()

    def _begin(self) -> bool:
        """Wait for the actor, and give it the run, unless it has it: then all of it is read once more. Returns whether
        it has.
        """
        self._actor = actor_of(self._ray, self.folder.id) or self._new()
        if self._wait(self._actor.holds.remote()):
            write_record(self.folder, self._address)
            self._begun, self._empty, self._seen, self._afresh = True, False, Seen(), True
            return True
        if self._begun:
            self._log(LOST)
            self._tell(LOST)
        self._begun, self._empty = False, True
        rewind(self.folder)
        files = packed(self.folder)
        write_record(self.folder, self._address)
        self._empty = False
        known = self._wait(self._actor.begin.remote(files, self._processes))
        self._begun, self._seen, self._afresh = True, known or Seen(), known is None
        return False

    def _new(self) -> Any:
        known = read_record(self.folder)
        if known is not None and known.address != self._address and (other := cluster_with(self.folder)):
            raise RunError(f"Run {self.folder.id} trains on the Ray cluster at {other}: resume it with --ray {other}.")
        self._empty = True
        options = self._ray.remote(Remote).options(
            name=self.folder.id,
            lifetime="detached",
            get_if_exists=True,
            max_restarts=-1,
            num_gpus=self._gpus,
            num_cpus=0 if self._gpus else 1,
        )
        return options.remote(self.folder.id)

    def _log(self, line: str) -> None:
        with contextlib.suppress(OSError):  # no room for it
            self.folder.log(line)

    def _look(self) -> int | None:
        written = self._wait(self._actor.look.remote(self._seen))
        write(self.folder, written, afresh=self._afresh)
        self._seen, self._afresh = written.seen, False
        return None if written.code is None else int(written.code)

    def _wait(self, answer: Any) -> Any:
        """Wait for an answer of the actor as long as it takes, hearing commands of those who do not want to wait."""
        while True:
            with contextlib.suppress(self._ray.exceptions.GetTimeoutError):
                return self._ray.get(answer, timeout=LOOK_SECONDS)
            self._hear_stop()

    def _hear_stop(self) -> None:
        """Leave if that is asked for and there is no trainer to be told."""
        if self._empty and any(command == "stop" for _, command in self.folder.commands(self._heard)):
            raise LeaveError

    def _pass_commands(self) -> None:
        for number, command in self.folder.commands(self._heard):
            self._heard = number
            self._wait(self._actor.send.remote(command))

    def _end(self) -> None:
        """Take nothing more from the actor: all that it has is here, whether it still answers or not."""
        if self._actor is not None:
            with contextlib.suppress(self._ray.exceptions.RayActorError):
                self._wait(self._actor.clear.remote())
            self._ray.kill(self._actor, no_restart=True)
        forget(self.folder)

    def _tell(self, message: str, phase: str = "starting") -> None:
        with contextlib.suppress(DiskFullError):
            state = self.folder.db.state()
            self.folder.db.set_state(dataclasses.replace(state, phase=phase, message=message, error=None))


def main(argv: list[str]) -> int:
    """Follow the run of a folder; exit status 0 unless it failed."""
    if len(argv) != 1:
        print("usage: python -m trainers.cluster.proxy RUN_FOLDER", file=sys.stderr)
        return 2
    path = Path(argv[0]).resolve()
    lock = RunLock(path)
    try:
        folder = RunFolder.open(path.parent, path.name)
        if not lock.acquire():
            print(f"Run {path.name} is being trained by another process.", file=sys.stderr)
            return 1
        return _followed(folder)
    except (UserError, OSError) as error:  # also of a disk that may only be read
        print(error, file=sys.stderr)
        return 1
    finally:
        lock.release()


def _followed(folder: RunFolder) -> int:
    def leave(_number: int, _frame: FrameType | None) -> None:
        raise LeaveError

    finished = folder.db.state().phase == "finished"
    if finished and not has_record(folder):
        return 0
    ray = connected()
    proxy = Proxy(folder, ray)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    try:
        if finished:
            proxy.take_rest()
            return 0
        return proxy.run()
    except LeaveError:
        proxy.leave()
        return 0
    except ray.exceptions.RayError as error:
        raise UserError(f"The cluster gives no answer: {brief(error)}") from error
    finally:
        folder.db.close()
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
