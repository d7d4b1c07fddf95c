"""The trainer process: kill it, pause it, leave it without a parent."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.tiny import tiny_config, write_images
from trainers.config import RunConfig
from trainers.runs import RunFolder

LONG = 4000  # steps; never reached


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images"))


class Trainers:
    """Starts real trainer processes and leaves none behind."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, folder: RunFolder, stderr: int | None = None) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, "-m", "trainers.worker", str(folder.path)],
            stdin=subprocess.PIPE,
            stderr=stderr,
            env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE", "HF_HUB_OFFLINE": "1"},
            start_new_session=True,
        )
        self._started.append(child)
        return child

    def close(self) -> None:
        for child in self._started:
            child.kill()
            child.wait()
            assert child.stdin is not None
            child.stdin.close()


@pytest.fixture
def trainers() -> Iterator[Trainers]:
    started = Trainers()
    yield started
    started.close()


def wait(what: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def final_weights(folder: RunFolder) -> dict[str, torch.Tensor]:
    found = folder.read_checkpoint()
    assert found is not None
    return found[0]


def create(root: Path, config: RunConfig) -> RunFolder:
    return RunFolder.create(root, config)


@pytest.mark.long
def test_killed_at_a_random_step_it_resumes_to_the_same_weights(
    tmp_path: Path, images: Path, trainers: Trainers
) -> None:
    config = tiny_config(images, "happier", "supcon_out", steps=300)
    whole = create(tmp_path, config)
    assert trainers.start(whole).wait(90) == 0
    assert whole.state().phase == "finished"
    broken = create(tmp_path, config)
    child = trainers.start(broken)
    wait(lambda: broken.state().step > 20)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert broken.state().phase == "interrupted"
    assert trainers.start(broken).wait(90) == 0
    assert broken.state().phase == "finished" and broken.state().step == 300
    expected, got = final_weights(whole), final_weights(broken)
    assert expected.keys() == got.keys()
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    steps = [step for _, step, _ in broken.snapshots()]
    assert steps == sorted(set(steps)) and steps[-1] == 300


def test_it_ends_with_a_checkpoint_when_its_parent_is_gone(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = create(tmp_path, tiny_config(images, steps=LONG))
    child = trainers.start(folder)
    wait(lambda: folder.state().step > 5)
    assert child.stdin is not None
    child.stdin.close()
    child.wait(60)
    state, checkpoint = folder.state(), folder.read_checkpoint()
    assert state.phase == "interrupted" and checkpoint is not None
    assert checkpoint[1]["step"] == state.step > 5


def test_pause_resume_and_stop(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = create(tmp_path, tiny_config(images, steps=LONG))
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


def test_a_second_trainer_is_refused(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = create(tmp_path, tiny_config(images, steps=LONG))
    trainers.start(folder)
    wait(lambda: folder.state().step > 2)
    second = subprocess.run(
        [sys.executable, "-m", "trainers.worker", str(folder.path)], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1 and "another process" in second.stderr
    assert folder.state().phase == "running"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sampler": "two_super_classes"}, "coarser level"),
        ({"encoder": "timm", "encoder_parameters": {"model": "no_such_net"}}, "not the name of a timm model"),
    ],
)
def test_failures_end_as_a_sentence(
    tmp_path: Path, images: Path, trainers: Trainers, changes: dict[str, object], words: str
) -> None:
    folder = create(tmp_path, tiny_config(images, **changes))
    assert trainers.start(folder).wait(60) == 1
    state = folder.state()
    assert state.phase == "failed" and state.error is not None and words in state.error


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of six megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]  # machines of continuous integration give it without a password
    mount = [*root, "mount", "-t", "tmpfs", "-o", f"size=6m,uid={os.geteuid()}", "tmpfs", str(place)]
    needed = all(map(shutil.which, {mount[0], "mount"}))
    if not needed or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here (that takes root)")
    yield place
    subprocess.run([*root, "umount", "-l", str(place)], check=True)


@pytest.mark.long
def test_a_full_disk_is_said_and_the_run_goes_on_once_there_is_room(
    small_disk: Path, images: Path, trainers: Trainers
) -> None:
    folder = create(small_disk / "runs", tiny_config(images, steps=LONG, snapshot_steps=1))
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
