"""Run folders that are only read: recordings, read-only folders, and those taken away while their database is open."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.explorer.page import Page
from tests.synthetic import make_run
from trainers.errors import RunError
from trainers.runs import RunFolder, is_id, list_runs
from trainers.runs.lock import RunLock
from trainers.runs.records import Scalar
from trainers.training.executor import ProcessExecutor


def test_a_recording_reads_and_leaves_nothing_behind(tmp_path: Path) -> None:
    written = make_run(tmp_path, points=48, frames=2, phase="running")
    written.db.close()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    (folder,) = list_runs(tmp_path, read_only=True)
    assert folder.state().phase == "interrupted" and not folder.is_alive()
    assert folder.frames() == [0, 1] and len(folder.scalars()) == 62
    assert folder.frame(1).arms[0].method == "pca"
    folder.log("nothing")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    folder.db.close()


def test_a_recording_refuses_every_change(tmp_path: Path) -> None:
    written = make_run(tmp_path, points=48, frames=1)
    written.db.close()
    folder = RunFolder.open(tmp_path, written.id, read_only=True)
    for change in (lambda: folder.send("stop"), lambda: folder.db.set_state(folder.state()), folder.delete):
        with pytest.raises(RunError, match="recording"):
            change()
    assert folder.frames() == [0]
    folder.db.close()


def test_a_copy_of_the_database_is_whole_while_others_write(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=48, frames=2)
    copy = tmp_path / "copy"
    copy.mkdir()
    folder.db.copy_to(copy / "run.db")
    assert [path.name for path in copy.iterdir()] == ["run.db"]
    shutil.copy(folder.path / "config.json", copy)
    again = RunFolder(copy, read_only=True)
    assert again.scalars() == folder.scalars() and again.state() == folder.state()


@pytest.mark.parametrize("text", ["", "..", "../" * 9, "0" * 25, "0" * 27, "I" * 26, "0" * 25 + "\n", "\x00" * 26])
def test_ids_name_no_other_place(text: str) -> None:
    assert not is_id(text)
    with pytest.raises(RunError, match="26 letters"):
        RunFolder.open(Path("/"), text)


def test_metric_rows_never_use_a_number_again(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=48, frames=3)
    last = folder.metric_rows(0, 10**6)[-1][0]
    folder.rewind(0)
    folder.db.add_metrics(folder.scalars()[:1])
    assert [row[0] for row in folder.metric_rows(last, 2)] == [last + 1]


# ---------------------------------------------------------------- read-only folders


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
    (card,) = page.cards()
    assert (card["phase"], card["read_only"], card["recorded"]) == ("finished", True, False)
    assert page.json(f"run/{folder.id}")["read_only"] is True
    for address in ("/poll", "/frame/1", "/sheet/0.webp", "/download/metrics.csv", "/download/run.zip"):
        assert page.get(f"run/{folder.id}{address}").status_code == 200
    settings = Settings(runs=seen, recorded=tmp_path / "recorded")
    runs = Runs(settings, Scheduler(settings, ProcessExecutor()))
    for act in (runs.delete, runs.stop, runs.pause, runs.resume):
        with pytest.raises(RunError, match="read-only folder"):
            act(folder.id, "")
    assert runs.status(folder.id)["phase"] == "finished"
    assert {path: path.stat().st_mtime_ns for path in written.rglob("*")} == before
    page.library.close()


def test_its_lock_is_not_to_be_deleted_there(place: tuple[Path, Path]) -> None:
    written, seen = place
    folder = make_run(written, points=48, frames=2)
    folder.db.close()
    with pytest.raises(RunError, match="read-only folder; it can be watched but not trained"):
        RunLock(seen / folder.id).acquire()


def test_a_run_that_trains_elsewhere_is_followed(place: tuple[Path, Path]) -> None:
    written, seen = place
    writer = make_run(written, points=48, frames=2)
    writer.db.add_metrics([Scalar(arm=0, step=999, seconds=1, key="loss", value=1)])
    reader = RunFolder.open(seen, writer.id)
    assert reader.scalars()[-1].step == 999
    writer.db.add_metrics([Scalar(arm=0, step=1000, seconds=1, key="loss", value=1)])
    assert reader.scalars()[-1].step == 1000
    with pytest.raises(RunError, match="read-only folder"):
        reader.send("stop")
    reader.db.close()
    writer.db.close()


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


# ---------------------------------------------------------------------- taken away


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


def replaced_by_a_pipe(folder: Path) -> None:
    shutil.rmtree(folder)
    os.mkfifo(folder)


def another_database(folder: Path) -> None:
    other = make_run(folder.parent / "other", phase="queued")
    other.db.set_state(dataclasses.replace(other.db.state(), message="the other"))
    other.db.close()
    shutil.rmtree(folder)
    shutil.copytree(other.path, folder)


@pytest.mark.parametrize("harm", [gone, replaced_by_a_pipe])
def test_what_was_taken_away_is_neither_read_nor_written(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    made = make_run(tmp_path / "made", phase="queued")
    made.db.close()
    path = shutil.copytree(made.path, tmp_path / made.id)
    folder = type(made).open(path.parent, made.id)
    state = folder.db.state()
    harm(path)
    for act in (folder.db.state, lambda: folder.db.set_state(state)):
        with pytest.raises(RunError):
            act()
    assert not folder.db.is_open


def test_what_lies_there_now_is_read(tmp_path: Path) -> None:
    folder = make_run(tmp_path, phase="queued")
    assert folder.db.state().message == "made up"
    another_database(folder.path)
    assert folder.db.state().message == "the other"
    folder.db.close()
