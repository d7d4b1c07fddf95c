"""What tests of training share: a folder of images, which nobody changes, and trainers that leave no process behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny import write_images
from trainers.runs import RunFolder


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
