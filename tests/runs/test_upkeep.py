"""What keeps a run folder sound: one row per number, nothing left behind, and files that reach the disk in order."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.synthetic import make_run
from trainers.runs import RunFolder
from trainers.runs.atomic_files import scratch, sweep, write_tensors
from trainers.runs.records import Scalar

UNFINISHED = (
    "import sys, time, pathlib; from trainers.runs.atomic_files import scratch\n"
    "with scratch(pathlib.Path(sys.argv[1])) as place:\n"
    "    (place / '.half').write_bytes(bytes(1000)); print('writing', flush=True); time.sleep(600)"
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return make_run(tmp_path, points=48, frames=2)


def number(value: float, step: int = 7) -> Scalar:
    return Scalar(arm=0, step=step, seconds=1.0, key="R_at_1", value=value)


def test_a_number_written_again_replaces_the_old_one_and_is_told_to_viewers(folder: RunFolder) -> None:
    folder.db.add_metrics([number(0.1), number(0.5, step=8)])
    row = folder.metric_rows(0, 10**6)[-1][0]
    folder.db.add_metrics([number(0.2)])
    assert folder.db.rows("SELECT value FROM metrics WHERE step = 7") == [(0.2,)]
    assert [(step, value) for _, _, step, _, value in folder.metric_rows(row, 10**6)] == [(7, 0.2)]


def test_unfinished_files_of_killed_writers_go_and_those_of_living_ones_stay(folder: RunFolder) -> None:
    place = folder.path / "emb"
    killed = subprocess.Popen([sys.executable, "-c", UNFINISHED, str(place)], stdout=subprocess.PIPE)
    with killed:
        assert killed.stdout is not None and killed.stdout.readline() == b"writing\n"
        sweep(place)
        (left,) = place.glob(".*.tmp")
        killed.kill()
    (folder.path / "ckpt").mkdir()
    (folder.path / "ckpt" / "previous.tmp").write_bytes(b"a link")
    whole = {path for path in folder.path.rglob("*.safetensors")}
    with scratch(place) as mine:
        folder.take_over()
        assert mine.is_dir() and not left.exists()
    assert not mine.exists() and not list(folder.path.rglob("*.tmp"))
    assert {path for path in folder.path.rglob("*.safetensors")} == whole


def test_a_checkpoint_whose_writer_was_killed_half_way_leaves_no_link(folder: RunFolder) -> None:
    weights = {"w": torch.zeros(2)}
    for step in (1, 2):
        folder.write_checkpoint(weights, {"step": step})
    last, previous = (folder.path / "ckpt" / f"{name}.safetensors" for name in ("last", "previous"))
    previous.unlink()
    os.link(last, previous)  # a writer killed before the new weights took the name: two names of one file
    folder.write_checkpoint(weights, {"step": 3})
    assert sorted(path.name for path in (folder.path / "ckpt").iterdir()) == [last.name, previous.name]


def test_a_cache_is_swept_by_the_next_writer(tmp_path: Path) -> None:
    left, earlier, alive = (tmp_path / "features" / f".{name}.tmp" for name in ("left", "earlier", "alive"))
    for path in (left, earlier, alive):
        path.mkdir(parents=True)
        (path / ".half").write_bytes(bytes(1000))
    (left / ".lock").touch()  # its holder is gone
    os.utime(earlier, (1e9, 1e9))  # no lock: of an earlier version, unless it was made just now
    write_tensors(tmp_path / "features" / "a.safetensors", {"a": torch.zeros(2)})
    assert [path.name for path in (tmp_path / "features").iterdir() if path != alive] == ["a.safetensors"]
    assert alive.is_dir()


def test_rewinding_removes_what_no_snapshot_announces(folder: RunFolder) -> None:
    for kind in ("emb", "layout"):
        shutil.copy(folder.path / kind / "000001.safetensors", folder.path / kind / "000009.safetensors")
    folder.rewind(10**6)
    assert sorted(path.name for path in (folder.path / "emb").iterdir()) == ["000000.safetensors", "000001.safetensors"]
    assert len(list((folder.path / "layout").iterdir())) == 2


def test_a_checkpoint_reaches_the_disk_after_its_rows_and_before_its_name(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(handle: int) -> None:
        done.append("sync " + Path(f"/proc/self/fd/{handle}").resolve().name.lstrip("."))
        fsync(handle)

    def watched_replace(path: Path, target: Path) -> Path:
        done.append(f"name {target.name}")
        return replace(path, target)

    def rows_first(statement: str) -> None:
        if statement.startswith(("UPDATE state", "PRAGMA synchronous")):
            done.append(statement)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    folder.db.rows("SELECT 1")
    trace = _connection(folder)
    trace.set_trace_callback(rows_first)
    folder.write_checkpoint({"w": torch.zeros(3)}, {"step": 1})
    trace.set_trace_callback(None)
    assert done == [
        "PRAGMA synchronous=FULL",
        "UPDATE state SET updated = updated",
        "PRAGMA synchronous=NORMAL",
        "sync last.safetensors",
        "name last.safetensors",
        "sync ckpt",
    ]


def _connection(folder: RunFolder) -> sqlite3.Connection:
    found = [value for value in vars(folder.db).values() if isinstance(value, sqlite3.Connection)]
    return found[0] if found else vars(folder.db)["_opened"].connection
