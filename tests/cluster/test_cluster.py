"""Two nodes of a Ray cluster on this machine: what is killed is lost nowhere."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cluster.cluster import Cluster
from tests.tiny import write_images
from tests.waiting import wait
from trainers.runs import list_runs

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images"))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(processors=2)
    made.add()
    yield made
    made.close()


def words(images: Path, *more: str) -> list[str]:
    fixed = ["--data", str(images), "--image-size", "16", "--encoder", "conv4:width=8", "--dim", "8", "--device", "cpu"]
    return [*fixed, "--classes-per-batch", "3", "--images-per-class", "2", "--snapshot-steps", "50", *more]


def start(cluster: Cluster, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "trainers", *command],
        env=dict(cluster.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(command: subprocess.Popen[str]) -> None:
    """Kill a command at once."""
    command.kill()
    command.communicate()


def reached(root: Path) -> int:
    """The step of the only run; -1: there is none yet."""
    runs = list_runs(root)
    step = runs[0].state().step if runs else -1
    for run in runs:
        run.db.close()
    return step


def proxies(root: Path) -> list[psutil.Process]:
    """The processes of this machine that stand for runs of a folder."""
    every = [(process, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [each for each, words in every if "trainers.cluster.proxy" in words and words[-1].startswith(str(root))]


SECONDS = 240  # a cluster is slow to start


def steps(root: Path) -> list[int]:
    found = [run for run in list_runs(root) if run.part_of]
    reached = [run.state().step for run in found]
    for run in found:
        run.db.close()
    return reached


def numbers(root: Path) -> dict[tuple[int, int], dict[str, float]]:
    """The final numbers by seed and embedding size."""
    every = {}
    for run in list_runs(root):
        if run.part_of:
            config: Any = run.config.single
            final = {s.key: s.value for s in run.scalars() if s.key.startswith("test/") and "second" not in s.key}
            every[config.seed, config.dim] = final
        run.db.close()
    return every


def test_a_sweep_outlives_a_node_and_the_command_that_started_it(
    cluster: Cluster, images: Path, tmp_path: Path
) -> None:
    root = tmp_path / "runs"
    sweep = ["--losses", "contrastive", "--steps", "1500", "--seeds", "0", "1", "2", "3", "--vary", "dim=8;16"]
    command = start(cluster, "sweep", *words(images, *sweep), "--runs", str(root), "--ray", cluster.address)
    wait(lambda: sum(step > 50 for step in steps(root)) >= 3, SECONDS)
    cluster.kill(1)
    time.sleep(3)
    ended(command)
    for proxy in proxies(root):
        with contextlib.suppress(psutil.Error):
            proxy.kill()
    (plan,) = (run.id for run in list_runs(root) if not run.part_of)
    again = start(cluster, "resume", plan, "--runs", str(root), "--ray", cluster.address, "--json")
    said, _ = again.communicate(timeout=600)
    assert again.returncode == 0, said
    runs = [run for run in list_runs(root) if run.part_of]
    assert len(runs) == 8 and all(run.state().phase == "finished" for run in runs)
    assert all(
        sum("finished at step" in line for line in (run.path / "log.txt").read_text().splitlines()) == 1 for run in runs
    )
    wait(lambda: not proxies(root), 60)
    local = tmp_path / "local"
    alone = subprocess.run(
        [sys.executable, "-m", "trainers", "sweep", *words(images, *sweep), "--runs", str(local), "--json"]
    )
    assert alone.returncode == 0
    here, there = numbers(local), numbers(root)
    assert here.keys() == there.keys() and len(here) == 8
    for run in runs:
        run.db.close()
    for key, known in here.items():
        assert there[key] == pytest.approx(known, abs=1e-6)


def test_a_run_is_followed_stopped_and_resumed(cluster: Cluster, images: Path, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    run = ["train", *words(images, "--losses", "contrastive", "--steps", "100000"), "--runs", str(root)]
    command = start(cluster, *run, "--ray", cluster.address)
    wait(lambda: reached(root) > 20, SECONDS)
    (folder,) = list_runs(root)
    wait(lambda: len(folder.snapshots()) >= 2, SECONDS)
    ended(command)
    before = folder.state().step
    wait(lambda: folder.state().step > before, SECONDS)  # nobody waits for it, and it trains on
    folder.send("stop")
    wait(lambda: folder.state().phase == "stopped", SECONDS)
    wait(lambda: not folder.is_alive(), SECONDS)
    assert folder.has_checkpoint
    stopped = folder.state().step
    second = start(cluster, "resume", folder.id, "--runs", str(root), "--ray", cluster.address)
    wait(lambda: folder.state().step > stopped, SECONDS)
    folder.send("stop")
    assert "stopped" in second.communicate(timeout=120)[0]
    with (folder.path / "config.json").open() as file:
        assert json.load(file)["steps"] == 100000
    folder.db.close()
