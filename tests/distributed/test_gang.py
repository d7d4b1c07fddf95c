"""Runs that the queue, a command or a sweep has trained by several processes, here on the CPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from explorer.page.form import Form
from explorer.page.form.kind_page import KindPage
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.distributed.processes import ROOT
from tests.distributed.test_group import workers
from tests.tiny import tiny_config, write_images
from tests.waiting import PATIENCE, wait
from trainers.config import RunConfig
from trainers.devices.device import CPU_PROCESSES
from trainers.distributed.follower import SAVE_SECONDS
from trainers.errors import ParameterError
from trainers.kinds import KINDS
from trainers.runs import RunFolder, list_runs
from trainers.runs.identity import read_config
from trainers.training.executor import AGAIN, ProcessExecutor
from trainers.worker import Worker

LONG = 100_000  # steps; never reached


@pytest.fixture(autouse=True)
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CPU_PROCESSES, "2")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    return write_images(tmp_path / "images")


class Page:
    """The queue of a page, as its thread moves it on."""

    def __init__(self, root: Path) -> None:
        settings = Settings(runs=root / "runs", recorded=root / "recorded")
        self.scheduler = Scheduler(settings, ProcessExecutor())
        self.runs = Runs(settings, self.scheduler)
        self.root = settings.runs
        self.scheduler.begin()

    def start(self, config: RunConfig) -> RunFolder:
        return RunFolder.open(self.root, self.runs.start(config, ""))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    made = Page(tmp_path)
    yield made
    made.scheduler.close()


def config(images: Path, **changes: object) -> RunConfig:
    return tiny_config(images, "contrastive", **({"processes": 2} | changes))


def test_the_queue_has_two_processes_train_the_weights_of_one(tmp_path: Path, images: Path, page: Page) -> None:
    folder = page.start(config(images))
    alone = RunFolder.create(tmp_path / "alone", config(images, processes=1))
    assert folder.config == alone.config and "processes" not in (folder.path / "config.json").read_text()
    assert Worker(alone).run().phase == "finished"
    wait(lambda: folder.state().phase in ("finished", "failed"))
    assert folder.state().error is None and "2 train this run together" in (folder.path / "log.txt").read_text()
    (mine, about), (other, known) = (made.read_checkpoint() or ({}, {}) for made in (folder, alone))
    assert about["step"] == known["step"] == 6 and mine.keys() == other.keys()
    assert max((mine[name] - other[name]).abs().max().item() for name in mine) < 1e-5
    losses = [[(each.step, each.value) for each in made.scalars() if each.key == "loss"] for made in (folder, alone)]
    assert [step for step, _ in losses[0]] == [1, 2, 3, 4, 5, 6]
    assert losses[0] == [(step, pytest.approx(value, abs=1e-5)) for step, value in losses[1]]
    wait(lambda: not workers(folder))


def test_the_setting_is_offered_where_there_are_processes_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    form = Form(kind=KINDS["metric_learning"], page=KindPage(name="metric_learning"))
    (field,) = (one for part in form.json()["sections"] for one in part["fields"] if one["name"] == "processes")
    assert (field["low"], field["high"], field["default"]) == (1, 2, 1)
    made = form.config({"processes": 2, "classes_per_batch": 4, "images_per_class": 4})
    assert made.processes == 2 and read_config(made.to_json()) == made and '"processes"' not in made.to_json()
    assert "processes" not in Form(kind=form.kind, page=form.page, public=True).names
    assert "processes" not in Form(kind=KINDS["finetuning"], page=KindPage(name="finetuning")).names
    monkeypatch.setenv(CPU_PROCESSES, "1")
    assert "processes" not in Form(kind=form.kind, page=form.page).names


def test_what_no_processes_can_share_is_refused(images: Path, page: Page) -> None:
    with pytest.raises(ParameterError, match="2 at most here; got 4 processes"):
        page.start(config(images, processes=4))
    odd = config(images, classes_per_batch=3, images_per_class=3)
    with pytest.raises(ParameterError, match="got 9 images and 2 processes"):
        KINDS["metric_learning"].check(odd)
    assert (
        KINDS["metric_learning"].processes(odd, 2) == 1 and KINDS["metric_learning"].processes(config(images), 8) == 2
    )
    with pytest.raises(ParameterError, match="trains in one process; got processes 2"):
        KINDS["finetuning"].check_shared(KINDS["finetuning"].config(processes=2))


@pytest.mark.long
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_starts_all_again_from_the_checkpoint(images: Path, page: Page, rank: int) -> None:
    folder = page.start(config(images, steps=LONG))
    wait(lambda: folder.state().step > 5 and folder.has_checkpoint)
    before = workers(folder)
    checkpoint = folder.read_checkpoint()
    assert len(before) == 2 and checkpoint is not None
    before[rank].kill()
    wait(lambda: AGAIN in (folder.path / "log.txt").read_text())
    wait(lambda: folder.state().phase == "running" and folder.state().step > checkpoint[1]["step"])
    after = workers(folder)
    assert len(after) == 2 and not {process.pid for process in before} & {process.pid for process in after}
    assert page.runs.stop(folder.id, "")
    wait(lambda: folder.state().phase == "stopped" and not workers(folder))


@pytest.mark.long
@pytest.mark.parametrize("how", ["stop", "pause", "close", "take out"])
def test_nothing_is_left_of_a_run_that_ends(images: Path, page: Page, how: str) -> None:
    folder = page.start(config(images, steps=LONG))
    if how == "take out":  # before it has begun
        wait(lambda: len(workers(folder)) == 2)
        assert page.scheduler.take_out(folder.id)
        wait(lambda: not workers(folder))
        assert folder.state().phase == "stopped"
        return
    wait(lambda: folder.state().step > 5)
    if how == "pause":
        page.runs.pause(folder.id, "")
        wait(lambda: folder.state().phase == "paused")
        step = folder.state().step
        page.runs.resume(folder.id, "")
        wait(lambda: folder.state().step > step)
    if how == "close":
        page.scheduler.close()
    else:
        page.runs.stop(folder.id, "")
    wait(lambda: not workers(folder), SAVE_SECONDS - 10)
    assert folder.state().phase == ("interrupted" if how == "close" else "stopped") and folder.has_checkpoint


COMMAND = (sys.executable, "-m", "trainers")
TINY = "--losses contrastive --encoder conv4:width=8 --image-size 24 --probe-size 20 --dim 8"
TINY += " --device cpu --processes 2 --classes-per-batch 4 --images-per-class 4"


def command(verb: str, images: Path, root: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, verb, *TINY.split(), "--data", str(images), "--runs", str(root), *more],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_command_leaves_nothing_behind(tmp_path: Path, images: Path, how: signal.Signals) -> None:
    with command("train", images, tmp_path / "runs", "--steps", str(LONG)) as process:
        wait(lambda: any(folder.state().step > 3 for folder in list_runs(tmp_path / "runs")))
        (folder,) = list_runs(tmp_path / "runs")
        process.send_signal(how)
        process.communicate(timeout=PATIENCE)
    wait(lambda: not workers(folder), SAVE_SECONDS - 10)
    assert folder.state().phase == "interrupted" and folder.has_checkpoint


@pytest.mark.long
def test_a_run_is_resumed_with_another_number(tmp_path: Path, images: Path) -> None:
    folder = RunFolder.create(tmp_path / "runs", config(images, processes=1, steps=LONG))
    before = Worker(folder).run(seconds=1).step
    resume = [*COMMAND, "resume", folder.id, "--runs", str(tmp_path / "runs"), "--processes", "2"]
    with subprocess.Popen(resume, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait(lambda: len(workers(folder)) == 2 and folder.state().step > before)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert folder.processes == 2 and not [
        worker for worker in workers(folder) if worker.status() != psutil.STATUS_ZOMBIE
    ]
