"""The lock that proves a trainer alive, asked about by many viewers."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from trainers.errors import RunError
from trainers.runs import lock as lock_module
from trainers.runs.lock import RunLock, is_locked


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    first, second = RunLock(tmp_path), RunLock(tmp_path)
    assert not is_locked(tmp_path)
    assert first.acquire() and is_locked(tmp_path)
    assert not second.acquire()
    first.release()
    assert not is_locked(tmp_path) and second.acquire()
    second.release()


@contextmanager
def asked_about(folder: Path) -> Iterator[Callable[[], None]]:
    """A viewer in the middle of asking whether the lock is held; what is returned ends the asking."""
    with (folder / "lock").open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield lambda: fcntl.flock(file, fcntl.LOCK_UN)


def test_two_who_ask_do_not_take_each_other_for_a_trainer(tmp_path: Path) -> None:
    with asked_about(tmp_path):
        assert not is_locked(tmp_path)


def test_asking_keeps_no_trainer_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with asked_about(tmp_path) as end:
        monkeypatch.setattr(lock_module.time, "sleep", lambda _: end())
        assert RunLock(tmp_path).acquire()


def test_a_run_that_is_gone_is_called_gone(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="There is no run deleted"):
        RunLock(tmp_path / "deleted").acquire()
