"""The trainer process: kill it, pause it, leave it without a parent."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny import tiny_config
from tests.training.conftest import Trainers
from tests.waiting import wait
from trainers.runs import RunFolder

LONG = 4000  # steps; never reached


def test_it_ends_with_a_checkpoint_when_its_parent_is_gone(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=LONG))
    child = trainers.start(folder)
    wait(lambda: folder.state().step > 5)
    assert child.stdin is not None
    child.stdin.close()
    child.wait(60)
    state, checkpoint = folder.state(), folder.read_checkpoint()
    assert state.phase == "interrupted" and checkpoint is not None
    assert checkpoint[1]["step"] == state.step > 5


def test_pause_resume_and_stop(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=LONG))
    child = trainers.start(folder)
    wait(lambda: folder.state().step > 5)
    folder.send("pause")
    wait(lambda: folder.state().phase == "paused")
    step = folder.state().step
    time.sleep(0.6)
    assert folder.state().step == step
    folder.send("resume")
    wait(lambda: folder.state().step > step)
    folder.send("stop")
    assert child.wait(60) == 0
    assert folder.state().phase == "stopped" and folder.read_checkpoint() is not None


@pytest.mark.long
def test_a_second_trainer_is_refused(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=LONG))
    trainers.start(folder)
    wait(lambda: folder.state().step > 2)
    second = subprocess.run(
        [sys.executable, "-m", "trainers.worker", str(folder.path)], capture_output=True, text=True, timeout=240
    )
    assert second.returncode == 1 and "another process" in second.stderr
    assert folder.state().phase == "running"


def test_a_failure_ends_as_a_sentence(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, sampler="two_super_classes"))
    assert trainers.start(folder).wait(60) == 1
    state = folder.state()
    assert state.phase == "failed" and state.error is not None and "coarser level" in state.error


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of six megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]  # machines of continuous integration give it without a password
    mount = [*root, "mount", "-t", "tmpfs", "-o", f"size=6m,uid={os.geteuid()}", "tmpfs", str(folder)]
    needed = all(map(shutil.which, {mount[0], "mount"}))
    if not needed or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here (that takes root)")
    yield folder
    subprocess.run([*root, "umount", "-l", str(folder)], check=True)


@pytest.mark.long
def test_a_full_disk_is_said_and_the_run_goes_on_once_there_is_room(
    small_disk: Path, images: Path, trainers: Trainers
) -> None:
    folder = RunFolder.create(small_disk / "runs", tiny_config(images, steps=LONG, snapshot_steps=1))
    child = trainers.start(folder)
    wait(lambda: folder.state().step > 5)
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(65536))
            file.flush()
    child.wait(60)
    state = folder.state()
    assert state.phase == "failed" and state.error is not None and "disk is full" in state.error
    filler.unlink()
    trainers.start(folder)
    wait(lambda: folder.state().step > state.step)
