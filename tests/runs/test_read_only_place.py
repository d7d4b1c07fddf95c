"""Runs on a disk that cannot be written: they are watched, and nobody is told to delete them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.explorer.page import Page
from tests.synthetic import make_run
from trainers.errors import RunError
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock
from trainers.runs.records import Scalar
from trainers.training.executor import ProcessExecutor


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder that can be written, and the same folder where it cannot."""
    written, seen = tmp_path / "written", tmp_path / "seen"
    written.mkdir()
    seen.mkdir()
    steps = (["mount", "--bind", str(written), str(seen)], ["mount", "-o", "remount,ro,bind", str(seen)])
    if shutil.which("mount") is None or any(subprocess.run(step, capture_output=True).returncode for step in steps):
        subprocess.run(["umount", "-l", str(seen)], capture_output=True)
        pytest.skip("a read-only file system cannot be mounted here (that takes root)")
    yield written, seen
    subprocess.run(["umount", "-l", str(seen)], check=True)


def test_a_run_is_watched_there_and_nothing_is_written(place: tuple[Path, Path], tmp_path: Path) -> None:
    written, seen = place
    folder = make_run(written, points=48, frames=2)
    folder.db.close()
    before = {path: path.stat().st_mtime_ns for path in written.rglob("*")}
    page = Page(seen, tmp_path / "recorded", tmp_path / "assets")
    (card,) = page.json("runs")["runs"]
    assert (card["phase"], card["read_only"], card["recorded"]) == ("finished", True, False)
    assert page.json(f"run/{folder.id}")["read_only"] is True
    for address in ("/poll", "/frame/1", "/sheet/0.webp", "/download/metrics.csv", "/download/run.zip"):
        assert page.get(f"run/{folder.id}{address}").status_code == 200
    settings = Settings(runs=seen, recorded=tmp_path / "recorded")
    runs = Runs(settings, Scheduler(settings, ProcessExecutor()))
    for act in (runs.delete, runs.stop, runs.pause, runs.resume):
        with pytest.raises(RunError, match="read-only place"):
            act(folder.id, "")
    assert runs.status(folder.id)["phase"] == "finished"
    assert {path: path.stat().st_mtime_ns for path in written.rglob("*")} == before
    page.library.close()


def test_its_lock_is_not_to_be_deleted_there(place: tuple[Path, Path]) -> None:
    written, seen = place
    folder = make_run(written, points=48, frames=2)
    folder.db.close()
    with pytest.raises(RunError, match="read-only place; it can be watched but not trained"):
        RunLock(seen / folder.id).acquire()


def test_a_run_that_trains_elsewhere_is_followed(place: tuple[Path, Path]) -> None:
    written, seen = place
    writer = make_run(written, points=48, frames=2)
    writer.db.add_metrics([Scalar(arm=0, step=999, seconds=1, key="loss", value=1)])
    reader = RunFolder.open(seen, writer.id)
    assert reader.scalars()[-1].step == 999
    writer.db.add_metrics([Scalar(arm=0, step=1000, seconds=1, key="loss", value=1)])
    assert reader.scalars()[-1].step == 1000
    with pytest.raises(RunError, match="read-only place"):
        reader.send("stop")
    reader.db.close()
    writer.db.close()


def test_a_finished_run_that_is_resumed_elsewhere_is_followed(place: tuple[Path, Path]) -> None:
    written, seen = place
    writer = make_run(written, points=48, frames=2)
    writer.db.close()
    reader = RunFolder.open(seen, writer.id)
    rows = len(reader.scalars())
    writer.db.add_metrics([Scalar(arm=0, step=1000, seconds=1, key="loss", value=1)])
    assert len(reader.scalars()) == rows + 1
    writer.db.close()
    assert len(reader.scalars()) == rows + 1
    reader.db.close()


@pytest.mark.parametrize("index", [True, False], ids=["with its index", "without"])
def test_what_a_killed_trainer_left_in_its_log_is_read(place: tuple[Path, Path], index: bool) -> None:
    written, seen = place
    folder = make_run(written, points=48, frames=2)
    folder.db.close()
    killed = sqlite3.connect(folder.path / "run.db")
    killed.execute("UPDATE state SET step = 12345")
    killed.commit()
    copy = written / ("0" * 26)
    shutil.copytree(folder.path, copy)
    killed.close()
    assert (copy / "run.db-wal").stat().st_size
    if not index:
        (copy / "run.db-shm").unlink()
    reader = RunFolder.open(seen, copy.name)
    assert reader.state().step == 12345
    reader.db.close()


def test_a_waiting_run_stays_out_of_the_queue_there(place: tuple[Path, Path], tmp_path: Path) -> None:
    written, seen = place
    make_run(written, phase="queued").db.close()
    scheduler = Scheduler(Settings(runs=seen, recorded=tmp_path / "recorded"), ProcessExecutor())
    assert scheduler.waiting() == 0
    scheduler.tick()
    assert not list(written.rglob("output.txt"))
