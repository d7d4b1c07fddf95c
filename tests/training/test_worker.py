"""The trainer process: paused, in slices, without a parent, with a full disk, and with a run that is deleted or moved.

It is killed at every kind of moment by tests/campaigns/kill.py.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests import zygote
from tests.tiny import tiny_config, trained, write_images
from tests.training.conftest import Trainers
from tests.training.test_store import frame
from tests.waiting import PATIENCE, wait
from trainers.cli.main import main
from trainers.config import RunConfig
from trainers.runs import RunFolder, new_id
from trainers.runs.records import BETWEEN_SLICES
from trainers.worker import Worker

LONG = 100_000  # steps; never reached


def test_it_ends_with_a_checkpoint_when_its_parent_is_gone(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=LONG))
    with zygote.cold():
        child = trainers.start(folder)
    wait(lambda: folder.state().step > 5)
    assert child.stdin is not None
    child.stdin.close()
    child.wait(PATIENCE)
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
    folder.send("pause")
    wait(lambda: (folder.path / "log.txt").read_text().count("command: pause") == 2)
    assert folder.state().step == step
    folder.send("resume")
    wait(lambda: folder.state().step > step)
    folder.send("stop")
    assert child.wait(PATIENCE) == 0
    assert folder.state().phase == "stopped" and folder.read_checkpoint() is not None


def test_a_failure_ends_as_a_sentence(tmp_path: Path, images: Path, trainers: Trainers) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, sampler="two_super_classes"))
    assert trainers.start(folder).wait(PATIENCE) == 1
    state = folder.state()
    assert state.phase == "failed" and state.error is not None and "coarser level" in state.error


@pytest.mark.parametrize(
    ("error", "whose"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."), "the GPU"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), "the GPU"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "this machine"),
        (MemoryError(), "this machine"),
    ],
)
def test_memory_that_runs_out_is_said(
    error: Exception, whose: str, tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(*_values: object) -> None:
        raise error

    monkeypatch.setattr("trainers.kinds.metric_learning.loop.LossArm.step", step)
    state = Worker(RunFolder.create(tmp_path, tiny_config(images))).run()
    assert state.phase == "failed" and state.error is not None
    assert state.error.startswith(f"The memory of {whose} ran out. Free some and resume this run, or start another")


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
    child.wait(PATIENCE)
    state = folder.state()
    assert state.phase == "failed" and state.error is not None and "disk is full" in state.error
    filler.unlink()
    trainers.start(folder)
    wait(lambda: folder.state().step > state.step)


def test_no_seconds_set_up_and_take_no_step(tmp_path: Path, images: Path) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images))
    told: list[float] = []
    state = Worker(folder).run(0, told.append)
    kept = folder.read_checkpoint()
    assert (state.phase, state.step) == (BETWEEN_SLICES, 0) and kept is not None and kept[1]["step"] == 0
    assert len(told) == 1 and told[0] > 0


def test_the_clock_starts_when_it_is_ready(tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=LONG))
    now, late = time.monotonic, [0.0]
    monkeypatch.setattr("trainers.worker.time.monotonic", lambda: now() + late[0])
    state = Worker(folder).run(1.0, lambda _seconds: late.__setitem__(0, 1000.0))  # it takes that long to be ready
    assert state.phase == BETWEEN_SLICES == folder.state().phase and state.step > 0


def test_slices_come_to_the_weights_of_one_go(tmp_path: Path, images: Path) -> None:
    config = tiny_config(images, steps=80, snapshot_steps=40)
    whole = trained(tmp_path / "whole", config).read_checkpoint()
    folder = RunFolder.create(tmp_path / "sliced", config)
    phases = []
    while not phases or phases[-1] == BETWEEN_SLICES:
        phases.append(Worker(RunFolder.open(folder.path.parent, folder.id)).run(0.4 * len(phases)).phase)
    sliced = folder.read_checkpoint()
    assert phases[-1] == "finished" and len(phases) > 2
    assert whole is not None and sliced is not None and whole[0].keys() == sliced[0].keys()
    assert all(torch.equal(whole[0][name], sliced[0][name]) for name in whole[0])


def test_a_paused_slice_gives_its_device_back(tmp_path: Path, images: Path) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=LONG))
    state = Worker(folder).run(math.inf, lambda _seconds: folder.send("pause"))
    assert state.phase == "stopped"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # enough of them that scoring takes a while
    return write_images(tmp_path_factory.mktemp("images"), test=150, each=8)


def kept_config(many: Path, **changes: object) -> RunConfig:
    return tiny_config(many, "supcon_out", "contrastive", **({"snapshot_steps": 3} | changes))


def last_words(child: subprocess.Popen[bytes]) -> list[str]:
    assert child.stderr is not None
    with child.stderr as stream:
        return stream.read().decode().splitlines()


def test_resuming_a_finished_run_says_so_and_changes_nothing(
    tmp_path: Path, images: Path, trainers: Trainers, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, "supcon_out"))
    assert Worker(folder).run().phase == "finished"
    before, log = folder.db.rows("SELECT * FROM metrics"), (folder.path / "log.txt").read_text()
    assert main(["resume", folder.id, "--runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "is finished; there is nothing to resume" in said and "whole test set, 36 images" in said
    assert trainers.start(folder).wait(PATIENCE) == 0
    assert folder.state().phase == "finished"
    assert folder.db.rows("SELECT * FROM metrics") == before and (folder.path / "log.txt").read_text() == log


@pytest.mark.parametrize(
    "when",
    [pytest.param("setting up", marks=pytest.mark.long), "training", pytest.param("scoring", marks=pytest.mark.long)],
)
def test_deleted_under_its_trainer_a_run_ends_and_stays_gone(
    tmp_path: Path, many: Path, trainers: Trainers, when: str
) -> None:
    changes = {"setting up": {"steps": LONG}, "training": {"steps": LONG}, "scoring": {}}[when]
    folder = RunFolder.create(tmp_path, kept_config(many, **changes))
    child = trainers.start(folder, stderr=subprocess.PIPE)
    points: dict[str, Callable[[], bool]] = {
        "setting up": lambda: (folder.path / "log.txt").exists(),
        "training": lambda: folder.db.state().step > 2,
        "scoring": lambda: folder.db.state().message.startswith(("embedding", "scoring")),
    }
    wait(points[when])
    folder.db.close()
    shutil.rmtree(folder.path, ignore_errors=True)
    assert child.wait(PATIENCE) == 1
    (line,) = last_words(child)
    assert line == f"The run {folder.id} was deleted or moved while it trained, so its training has ended."
    assert not list(tmp_path.iterdir())


def test_what_a_writer_meets_in_a_deleted_run_is_an_error_and_no_new_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / new_id())
    for write in (
        lambda: folder.add_frame(frame(0)),
        lambda: folder.write_checkpoint({}, {}),
        lambda: folder.log("hello"),
        folder.take_over,
        lambda: Worker(folder),
    ):
        with pytest.raises(Exception, match=r"No such file|missing"):
            write()
    assert not list(tmp_path.iterdir())


PARENT = """
import subprocess, sys, time

child = subprocess.Popen([sys.executable, sys.argv[1]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
time.sleep(600)
"""
WATCH = "from trainers.training import parent_watch\n"
HOLD = WATCH + "parent_watch.hold(0.1)\nopen(__file__ + '.held', 'w').close()\n"
BUSY = {
    "code that holds the interpreter": "import ctypes\nctypes.PyDLL(None).sleep(600)\n",
    "a step of many seconds": "import numpy as np\nwhile True: np.sort(np.random.default_rng(0).random(30_000_000))\n",
    "the end of the interpreter": "import atexit, time\natexit.register(time.sleep, 600)\n",
    "a thread that never ends": "import threading\nthreading.Thread(target=threading.Event().wait).start()\n",
}


def _is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("doing", BUSY)
def test_it_is_gone_soon_after_its_parent_was_killed(tmp_path: Path, doing: str) -> None:
    script = tmp_path / "held.py"
    script.write_text(HOLD + BUSY[doing])
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(script)], stdout=subprocess.PIPE, env=env)
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait((tmp_path / "held.py.held").exists)
        time.sleep(0.2)
        assert _is_there(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        wait(lambda: not _is_there(child), words="it outlived its parent")


def test_without_a_pipe_nothing_is_held(tmp_path: Path) -> None:
    script = tmp_path / "free.py"
    script.write_text(WATCH + "import os\nparent_watch.hold(0)\nprint(os.getpid())\nparent_watch.leave(7)\n")
    env = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run([sys.executable, str(script)], stdin=subprocess.DEVNULL, capture_output=True, env=env)
    assert done.returncode == 7 and done.stdout.strip().isdigit()
