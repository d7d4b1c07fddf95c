"""The lock that proves a trainer alive, asked about by many viewers."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from trainers.errors import RunError
from trainers.runs.lock import RunLock, is_locked


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    first, second = RunLock(tmp_path), RunLock(tmp_path)
    assert not is_locked(tmp_path)
    assert first.acquire() and is_locked(tmp_path)
    assert not second.acquire()
    first.release()
    assert not is_locked(tmp_path) and second.acquire()
    second.release()


def test_asking_never_keeps_a_trainer_out(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    asking = threading.Event()
    wrong: list[int] = []

    def ask() -> None:
        while not asking.is_set():
            is_locked(tmp_path)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    end, lock = time.monotonic() + 1, RunLock(tmp_path)
    tries = 0
    while time.monotonic() < end:
        tries += 1
        if not lock.acquire():
            wrong.append(tries)
        lock.release()
    asking.set()
    for thread in threads:
        thread.join()
    assert tries > 3 and not wrong


def test_a_run_that_is_gone_is_called_gone(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="There is no run deleted"):
        RunLock(tmp_path / "deleted").acquire()
