"""The real process, started as the page starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.layout import supervisor as supervisor_module
from explorer.layout.environment import environment
from explorer.layout.process import main
from explorer.layout.supervisor import LayoutSupervisor
from tests.layout.worlds import extend, make_run
from tests.waiting import PATIENCE, wait


def _spawn(root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "explorer.layout.process", str(root)],
        stdin=subprocess.PIPE,
        env={**os.environ, **environment()},
    )


@pytest.fixture
def supervisor(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LayoutSupervisor]:
    monkeypatch.setattr(supervisor_module, "FIRST_PAUSE", 0.1)
    made = LayoutSupervisor(root)
    yield made
    made.stop()


# loading shared objects and compiling let no other thread run: then it is ended from outside
@pytest.mark.parametrize("after", [0.5, 3.0], ids=lambda after: f"after {after} s")
def test_it_ends_when_its_parent_is_gone(root: Path, after: float) -> None:
    process = _spawn(root)
    assert process.stdin is not None
    time.sleep(after)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(PATIENCE) in (0, -signal.SIGKILL)


def test_it_survives_kill_and_never_shows_less(root: Path, supervisor: LayoutSupervisor) -> None:
    watched, training = make_run(root, 3), make_run(root, 1, phase="running")
    supervisor.start()
    supervisor.watch(watched.id)
    wait(lambda: watched.frames() == [0, 1, 2] and training.frames() == [0])
    first = supervisor.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait(lambda: supervisor.pid not in (None, first))
    extend(training, 1, 2)
    wait(lambda: training.frames() == [0, 1])
    last = supervisor.pid
    supervisor.stop()
    assert supervisor.pid is None and last is not None
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)


@pytest.mark.parametrize("by", ["training", "viewing"])
def test_it_starts_when_it_is_needed(root: Path, by: str) -> None:
    trains: list[str] = []
    supervisor = LayoutSupervisor(root, lambda: bool(trains))
    supervisor.start()
    time.sleep(5 * supervisor_module.BEAT_SECONDS)
    assert supervisor.pid is None
    if by == "training":
        trains.append("one")
    else:
        supervisor.watch("0" * 26)
    wait(lambda: supervisor.pid is not None)
    supervisor.stop()
    assert supervisor.pid is None


def test_a_process_that_hangs_is_ended_all_the_same(
    supervisor: LayoutSupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "END_SECONDS", 0.1)
    supervisor.start()
    wait(lambda: supervisor.pid is not None)
    assert supervisor.pid is not None
    os.kill(supervisor.pid, signal.SIGSTOP)
    supervisor.stop()
    assert supervisor.pid is None


def test_watching_takes_anything(supervisor: LayoutSupervisor) -> None:
    for name in ["", "a\nwatch b", "x" * 10_000, "0" * 26]:
        supervisor.watch(name)
    assert list(supervisor.watched) == ["0" * 26]


@pytest.mark.usefixtures("umap_ready")
def test_one_run_can_be_filled_in_from_the_command_line(root: Path) -> None:
    folder = make_run(root, 3)
    assert main([str(root), "--fill", folder.id]) == 0
    assert [folder.frame(k).arms[0].method for k in folder.frames()] == ["umap"] * 3
    assert main([str(root), "--fill", "nothing"]) == 1


def test_compiled_code_is_kept_at_home_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert environment()["NUMBA_CACHE_DIR"].startswith(str(tmp_path))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "NUMBA_CACHE_DIR" not in environment()
