"""Folders of runs on a machine of the cluster: kept until they are taken, removed when their process is gone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cluster.test_mirror import elsewhere, numbers
from tests.tiny import tiny_config, write_images
from trainers.cluster.packing import Seen
from trainers.cluster.proxy import write
from trainers.cluster.remote import PREFIX, Keeper, remove_abandoned
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock
from trainers.worker import Worker

HOLDER = f"""
import sys, time
from pathlib import Path
from trainers.runs.atomic_files import held
print(held(Path(sys.argv[1]), {PREFIX!r})[0], flush=True)
time.sleep(100)
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of a machine of the cluster."""
    path = tmp_path / "there"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


def holder(there: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(there)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_folders_of_processes_that_are_gone_are_removed_and_no_others(there: Path, tmp_path: Path) -> None:
    alive, dead, leaving = (holder(there) for _ in range(3))
    run = leaving[1] / "run"
    run.mkdir()
    lock = RunLock(run)
    assert lock.acquire()
    foreign, link = there / "rankscope-other", there / f"{PREFIX}link.tmp"
    foreign.mkdir()
    link.symlink_to(tmp_path)
    try:
        for process, _ in (dead, leaving):
            process.kill()
            process.wait()
        remove_abandoned(there)
        assert set(there.iterdir()) == {alive[1], leaving[1], foreign, link} and tmp_path.is_dir()
        lock.release()
        remove_abandoned(there)
        assert set(there.iterdir()) == {alive[1], foreign, link}
    finally:
        for process, _ in (alive, dead, leaving):
            process.kill()
            process.communicate()


def test_a_keeper_has_all_of_a_run_that_has_ended_until_it_is_taken(there: Path, tmp_path: Path) -> None:
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=4, snapshot_steps=2)
    made = RunFolder.create(tmp_path / "here", config)
    copy, _ = elsewhere(made, tmp_path / "machine")
    Worker(copy).run()
    trained, rows = (copy.path / "log.txt").read_bytes(), numbers(copy)
    copy.db.close()
    keeper = Keeper((str(copy.path), 0))
    assert not copy.path.exists() and keeper.holds()
    for _ in range(2):  # a command that follows it may be killed, and another one begins from nothing
        look = keeper.look(Seen())
        write(made, look, afresh=True)
        assert look.code == 0 and numbers(made) == rows and (made.path / "log.txt").read_bytes() == trained
    assert made.state().phase == "finished" and made.has_checkpoint
    keeper.clear()
    assert not list(there.glob(f"{PREFIX}*"))
