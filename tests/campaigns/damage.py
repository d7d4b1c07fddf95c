"""Damaged run folders, each read by everything that reads run folders; the good run beside it must not notice.

python -m tests.campaigns.damage --folders 450

What is tried is the table of ``tests/damages.py`` and what differs from run to run; one run in four waits for its turn
when it is damaged. A reply of 500, an exception
without a sentence, a dead scheduler, a read that never ends, or a damaged run that cannot be deleted is a failure.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from unittest import mock

from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.exports import EXPORTS
from explorer.server.library import Library
from explorer.server.routes import PREFIX
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.damages import DAMAGES, FILES, Damage, missing
from tests.explorer.page import Watched, routes
from tests.programs import Tally, arguments, say
from tests.synthetic import make_run
from trainers.cli import main as command_line
from trainers.errors import UserError
from trainers.runs import RunFolder, is_id, new_id
from trainers.training.executor import ProcessExecutor

WAITING = 0.25
NOBODY = {"free.return_value": None, "holds.return_value": False, "reap.return_value": []}
"""Of an executor without a free device: what is resumed waits, and can be stopped and deleted."""
PATHS = ("", "/poll?after=-1&row=0", "/frame/2", "/frameinfo/2", "/sheet/0.webp", "/neighbours/2/5")
PATIENCE = 120.0  # seconds in which a folder must be read by everything, on a machine that is busy with other work
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def _cut(path: Path, draws: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: draws.randrange(len(content) or 1)])


def _flipped(path: Path, draws: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    for _ in range(max(8, len(content) // 500)):
        content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
    path.write_bytes(content)


def _overwritten(path: Path, draws: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"\0")
    start = draws.randrange(len(content))
    noise = draws.randbytes(draws.randrange(1, 4000))
    content[start : start + len(noise)] = noise
    path.write_bytes(content)


def _endless(path: Path, _draws: random.Random) -> None:
    missing(path)
    path.symlink_to("/dev/zero")


WAYS: Mapping[str, Callable[[Path, random.Random], None]] = {
    "cut off somewhere": _cut,
    "flipped bits": _flipped,
    "partly overwritten": _overwritten,
    "endless": _endless,
}


def queued(folder: Path) -> None:
    """Let the run wait for its turn."""
    with contextlib.closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        connection.execute("UPDATE state SET phase = 'queued'")


def _at(name: str, way: Callable[[Path, random.Random], None]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
        way(path, random.Random(folder.name))

    return damage


MORE: Mapping[str, Damage] = {f"{name}: {words}": _at(name, way) for name in FILES for words, way in WAYS.items()}


class Readers:
    """Everything that reads run folders, on one folder of a damaged and a good run; failures are collected."""

    def __init__(self, root: Path, bad: str, good: str) -> None:
        self._root, self._bad, self._good = root, bad, good
        self.failures: list[str] = []
        self.at = "starting"

    def read(self) -> None:
        """All of it, one after the other."""
        settings = Settings(runs=self._root, recorded=self._root.parent / "recorded")
        with self._trying("the scheduler's start"):
            executor = mock.create_autospec(ProcessExecutor, instance=True)
            executor.configure_mock(**NOBODY)
            self._served(settings, Scheduler(settings, executor))
        with self._trying("the command line's list"), contextlib.redirect_stdout(io.StringIO()) as out:
            command_line.main(["list", "--runs", str(self._root)])
            assert self._good in out.getvalue(), "it lacks the good run"

    def _served(self, settings: Settings, scheduler: Scheduler) -> None:
        runs, library = Runs(settings, scheduler), Library(settings.runs, settings.recorded)
        client = TestClient(Starlette(routes=routes(library, Watched(), runs)), raise_server_exceptions=False)
        scheduler.begin()
        try:
            for run_id, kinds in ((self._bad, EXPORTS), (self._good, ("metrics.csv",))):
                for path in (*PATHS, *(f"/download/{kind}" for kind in kinds)):
                    with self._trying(f"{path or 'about'} of {'the good run' * (run_id == self._good)}"):
                        status = client.get(f"{PREFIX}/run/{run_id}{path}").status_code
                        assert status == 200 or (status < 500 and run_id == self._bad), status
            self._listed(client, runs)
            for name in ("status", "resume", "stop"):
                with self._trying(name):
                    getattr(runs, name)(self._bad, *[""] * (name != "status"))
            with self._trying("the scheduler's turn"):
                scheduler.tick()
                assert any(t.name == "scheduler" for t in threading.enumerate()), "its thread is dead"
            with self._trying("stop"):
                scheduler.take_out(self._bad)
            with self._trying("delete"):
                runs.delete(self._bad, "")
            with self._trying("what was deleted"):
                assert not os.path.lexists(self._root / self._bad), "it is there"
            self._listed(client, runs)
        finally:
            library.close()
            with self._trying("closing the scheduler"):
                scheduler.close()

    def _listed(self, client: TestClient, runs: Runs) -> None:
        for path in ("runs.csv", "start"):
            with self._trying(f"/{path}"):
                reply = client.get(f"{PREFIX}/{path}")
                assert reply.status_code == 200, reply.status_code
                assert path == "start" or self._good in reply.text, "it lacks the good run"
        with self._trying("the API's list"):
            assert self._good in str(runs.listing()), "it lacks the good run"

    @contextlib.contextmanager
    def _trying(self, what: str) -> Iterator[None]:
        """A sentence for the user is as it should be; anything else is a failure."""
        self.at = what
        try:
            yield
        except UserError:
            pass
        except Exception as error:
            self.failures.append(f"{what}: {type(error).__name__}: {str(error)[:120]}")


def trial(
    place: Path, models: tuple[RunFolder, RunFolder], damage: Damage, name: str, patience: float = PATIENCE
) -> list[str]:
    """Copy two runs, damage one, read them; sentences on what went wrong."""
    root = place / name / "runs"
    bad, good = root / name, root / models[1].id
    shutil.copytree(models[0].path, bad)
    shutil.copytree(models[1].path, good)
    damage(bad)
    readers = Readers(root, name, good.name)
    thread = threading.Thread(target=readers.read, daemon=True, name=f"readers {name}")
    thread.start()
    thread.join(patience)
    failures = list(dict.fromkeys(readers.failures))
    if thread.is_alive():
        failures.append(f"{readers.at} never ends")
        _unblocked(bad)
    else:
        shutil.rmtree(place / name, ignore_errors=True)
    return failures


def _unblocked(run: Path) -> None:
    """Let go whoever waits at a pipe, so that its thread ends."""
    for path in run.rglob("*"):
        if path.is_fifo():
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))


def campaign(folders: int, seed: int) -> Tally:
    """So many damaged folders, in turn through the catalogue, in an order that the seed decides."""
    tally = Tally(name="damage", head="damaged")
    draws = random.Random(seed)
    table = {**DAMAGES, **MORE}
    names = sorted(table)
    draws.shuffle(names)
    logging.getLogger("explorer.server.http").setLevel(logging.CRITICAL)  # what is wrong is told in the table
    with tempfile.TemporaryDirectory(prefix="damage-", ignore_cleanup_errors=True) as folder:
        place = Path(folder).resolve()
        models = (
            make_run(place / "models", points=60, frames=4),
            make_run(place / "models", points=60, frames=4, seed=1),
        )
        for model in models:
            model.write_checkpoint({}, {"step": 75})
            model.log("made up")
            model.db.close()
        trial(place, models, lambda _run: None, new_id(), 900)  # what is slow the first time is not a damage's fault
        for number in range(folders):
            name = names[number % len(names)]
            run_id = "0" + "".join(draws.choices(LETTERS, k=25))
            assert is_id(run_id)
            waits = draws.random() < WAITING
            failures = trial(place, models, _twice(queued, table[name]) if waits else table[name], run_id)
            tally.note(_kind(name, waits), [f"{name}: {', '.join(failures)}"] if failures else [])
            if failures:
                say(f"{name}{' while it waits' * waits}: {', '.join(failures)}")
    tally.tried = dict(sorted(tally.tried.items()))
    return tally


def _twice(first: Damage, second: Damage) -> Damage:
    def both(run: Path) -> None:
        first(run)
        second(run)

    return both


def _kind(name: str, waits: bool) -> str:
    """The row of the table."""
    if waits:
        return "anything, while it waits"
    what, colon, _ = name.partition(":")
    return what if colon else "contents of the configuration and the database"


def main() -> int:
    """Exit status 1 if anything failed."""
    given = arguments(__doc__, folders=(450, "damaged folders to read"), seed=(0, "of every random choice"))
    return campaign(given.folders, given.seed).end()


if __name__ == "__main__":
    sys.exit(main())
