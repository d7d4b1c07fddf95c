"""A run of several processes: whoever is stopped, killed or fails, all leave, it says why, and it goes on later."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.distributed.failing import MEMORY, REFUSED, STEP
from tests.distributed.processes import ROOT, started
from tests.tiny import tiny_config, write_images
from tests.waiting import PATIENCE, wait
from trainers.distributed.follower import SAVE_SECONDS
from trainers.runs import RunFolder
from trainers.worker import Worker

pytestmark = pytest.mark.long
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node")


@contextlib.contextmanager
def launched(folder: RunFolder, world: int = 2) -> Iterator[subprocess.Popen[bytes]]:
    """The launcher of a run's workers, which hold the reading end of a pipe."""
    command = [*TORCHRUN, str(world), "-m", "trainers.worker", str(folder.path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (
        (folder.path / "output.txt").open("w") as output,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        yield process
        for left in workers(folder):
            left.kill()
        process.kill()


def workers(folder: RunFolder) -> list[psutil.Process]:
    """The processes that train a run, the first one first."""
    every = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if str(folder.path) in words and "trainers.worker" in words and "--nproc-per-node" not in words:
                every.append((process.environ().get("RANK", ""), process))
    parents = {process.pid for _, process in every}
    return [process for _, process in sorted(every, key=lambda pair: pair[0]) if process.ppid() not in parents]


def made(tmp_path: Path, **changes: object) -> RunFolder:
    images = write_images(tmp_path / "images")
    return RunFolder.create(tmp_path / "runs", tiny_config(images, "contrastive", **changes))


ENDS: dict[str, Callable[[subprocess.Popen[bytes], list[psutil.Process], RunFolder], None]] = {
    "stopped": lambda _launcher, _ranks, folder: folder.send("stop"),
    "launcher terminated": lambda launcher, _ranks, _folder: launcher.terminate(),
    "launcher killed": lambda launcher, _ranks, _folder: launcher.kill(),
    "first process killed": lambda _launcher, ranks, _folder: ranks[0].kill(),
    "second process killed": lambda _launcher, ranks, _folder: ranks[1].kill(),
    "second process asked": lambda _launcher, ranks, _folder: ranks[1].send_signal(signal.SIGTERM),
    "page gone": lambda launcher, _ranks, _folder: launcher.stdin.close() if launcher.stdin else None,
}


@pytest.mark.parametrize("how", ENDS)
def test_all_leave_and_the_run_goes_on_in_one_process(tmp_path: Path, how: str) -> None:
    folder = made(tmp_path, steps=100_000)
    with launched(folder) as launcher:
        wait(lambda: folder.state().step > 5 and folder.has_checkpoint)
        ranks = workers(folder)
        assert len(ranks) == 2
        ENDS[how](launcher, ranks, folder)
        wait(lambda: not workers(folder) and not folder.is_alive(), SAVE_SECONDS - 10, "before they give up waiting")
        launcher.wait(PATIENCE)
    checkpoint = folder.read_checkpoint()
    assert folder.state().phase == ("stopped" if how == "stopped" else "interrupted") and checkpoint is not None
    resumed = RunFolder.open(folder.path.parent, folder.id)
    worker = Worker(resumed)
    state = worker.run(seconds=1)
    assert state.step > checkpoint[1]["step"] and state.error is None


def test_a_pause_outlasts_the_time_limit_of_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_GROUP_TIMEOUT", "4")
    folder = made(tmp_path, steps=100_000)
    with launched(folder) as launcher:
        wait(lambda: folder.state().step > 2)
        folder.send("pause")
        wait(lambda: folder.state().phase == "paused")
        time.sleep(8)
        before = folder.state().step
        folder.send("resume")
        wait(lambda: folder.state().step > before)
        folder.send("stop")
        launcher.wait(PATIENCE)
    assert folder.state().phase == "stopped"


SECONDS = 200.0


def trained(folder: RunFolder, world: int, fails: str = "") -> tuple[list[int | None], str]:
    """The exit statuses of the processes, all of which end by themselves, and what they print."""
    with started(world, ["-m", "tests.distributed.failing", str(folder.path)], {"FAILS": fails}) as processes:
        said = [process.communicate(timeout=SECONDS)[0] for process in processes]
        return [process.returncode for process in processes], "\n".join(said)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(("how", "sentence"), [("refuses", REFUSED), ("memory at set-up", MEMORY)])
def test_one_that_cannot_be_set_up_ends_all(tmp_path: Path, rank: int, how: str, sentence: str) -> None:
    folder = made(tmp_path)
    codes, said = trained(folder, 2, f"{rank}:{how}")
    state = folder.state()
    assert state.phase == "failed" and sentence in (state.error or ""), said
    assert ("Process 1" in (state.error or "")) == (rank == 1)
    assert codes[0] == 1 and min(code for code in codes if code is not None) >= 0
    assert state.step == 0 and not folder.has_checkpoint


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("how", ["memory in the encoder", "memory in the backward pass"])
def test_one_out_of_memory_ends_all_and_the_checkpoint_is_whole(tmp_path: Path, rank: int, how: str) -> None:
    folder = made(tmp_path)
    codes, said = trained(folder, 2, f"{rank}:{how}")
    state, checkpoint = folder.state(), folder.read_checkpoint()
    assert state.phase == "failed" and MEMORY in (state.error or ""), said
    assert f"The last good checkpoint is of step {STEP}." in (state.error or "")
    assert ("Process 1" in (state.error or "")) == (rank == 1)
    assert codes[0] == 1 and min(code for code in codes if code is not None) >= 0
    assert checkpoint is not None and checkpoint[1]["step"] == STEP
    codes, said = trained(RunFolder.open(folder.path.parent, folder.id), 2)
    assert codes == [0, 0] and folder.state().phase == "finished" and folder.state().step == 6, said
