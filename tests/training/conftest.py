"""What tests of training share: folders of images that nobody changes, trainers that leave no process, a small disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.finetuning.world import write_coco
from tests.tiny import write_images
from trainers.runs import RunFolder

SMALL = [
    *("train", "--steps", "2", "--classes-per-batch", "4", "--images-per-class", "3"),
    *("--encoder", "small_conv:width=8", "--dim", "16", "--threads", "1"),
]
"""A command that trains for a second, without its images."""


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen classes of six coloured discs."""
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


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of so many bytes, as a test's parameter says, or of six megabytes."""
    folder, size = tmp_path / "disk", getattr(request, "param", "6m")
    folder.mkdir()
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]  # machines of continuous integration give it without a password
    mount = [*root, "mount", "-t", "tmpfs", "-o", f"size={size},uid={os.geteuid()}", "tmpfs", str(folder)]
    needed = all(map(shutil.which, {mount[0], "mount"}))
    if not needed or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here (that takes root)")
    yield folder
    subprocess.run([*root, "umount", "-l", str(folder)], check=True)


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up COCO folder."""
    return write_coco(tmp_path_factory.mktemp("scenes"))
