"""Recordings: read like any run, never written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.synthetic import make_run
from trainers.errors import RunError
from trainers.runs import RunFolder, is_id, list_runs


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
