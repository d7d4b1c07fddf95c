"""Two nodes of a Ray cluster on this machine: what is killed is lost nowhere."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from tests.cluster.cluster import Cluster
from tests.tiny import tiny_config, write_images
from tests.waiting import wait
from trainers.cluster.holding import FORGET
from trainers.plans.runner import PlanRunner
from trainers.runs import RunFolder, list_runs
from trainers.training.executor import Device, ProcessExecutor
from trainers.worker import Worker

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]


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


def start(cluster: Cluster | None, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "trainers", *command],
        env=None if cluster is None else dict(cluster.environment),
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


class Alone(ProcessExecutor):
    """Trains each run in this process at once."""

    def launch(self, folder: Path, device: Device) -> None:
        assert Worker(RunFolder(folder)).run().phase == "finished"


def test_a_sweep_outlives_a_node_and_the_command_that_started_it(
    cluster: Cluster, images: Path, tmp_path: Path
) -> None:
    root = tmp_path / "runs"
    sweep = ["--losses", "contrastive", "--steps", "300", "--seeds", "0", "1", "2", "3", "--vary", "dim=8;16"]
    command = start(cluster, "sweep", *words(images, *sweep), "--runs", str(root), "--ray", cluster.address)
    wait(lambda: sum(step > 0 for step in steps(root)) >= 3, SECONDS)
    cluster.kill(1)
    ended(command)
    for proxy in proxies(root):
        with contextlib.suppress(psutil.Error):
            proxy.kill()
    (plan,) = (run.id for run in list_runs(root) if not run.part_of)
    again = start(cluster, "resume", plan, "--runs", str(root), "--ray", cluster.address, "--json")
    said, _ = again.communicate(timeout=900)
    assert again.returncode == 0, said
    runs = [run for run in list_runs(root) if run.part_of]
    assert len(runs) == 8 and all(run.state().phase == "finished" for run in runs)
    assert all(
        sum("finished at step" in line for line in (run.path / "log.txt").read_text().splitlines()) == 1 for run in runs
    )
    wait(lambda: not proxies(root), 60)
    local = tmp_path / "local"
    runner = PlanRunner(RunFolder.create(local, RunFolder.open(root, plan).config), executor=Alone())
    while runner.move_on():
        pass
    here, there = numbers(local), numbers(root)
    assert here.keys() == there.keys() and len(here) == 8
    for run in runs:
        run.db.close()
    for key, known in here.items():
        assert there[key] == pytest.approx(known, abs=1e-6)


def test_a_run_is_followed_stopped_and_resumed_and_outlives_all(cluster: Cluster, images: Path, tmp_path: Path) -> None:
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
    wait(lambda: folder.state().step > stopped and len(folder.snapshots()) > 3, SECONDS)
    for node in (0, 1):  # the head first
        cluster.kill(node)
    said, _ = second.communicate(timeout=300)
    assert second.returncode and "Traceback" not in said, said
    wait(lambda: not proxies(root) and not folder.is_alive(), 120)
    assert folder.state().phase == "interrupted" and folder.has_checkpoint
    said, _ = start(None, "resume", folder.id, "--runs", str(root)).communicate(timeout=120)
    assert f"resume {folder.id} {FORGET}" in said, said
    local = start(None, "resume", folder.id, "--runs", str(root), FORGET)
    before = folder.state().step
    wait(lambda: folder.state().step > before, SECONDS)
    folder.send("stop")
    assert "stopped" in local.communicate(timeout=120)[0]
    with (folder.path / "config.json").open() as file:
        assert json.load(file)["steps"] == 100000
    folder.db.close()


UNFOLLOWED = """
import sys, time
from pathlib import Path
from trainers.cluster.address import connected
from trainers.cluster.holding import keeper_name
from trainers.cluster.packing import packed
from trainers.cluster.remote import Remote
from trainers.runs import RunFolder

ray, path = connected(), Path(sys.argv[1])
actor = ray.remote(Remote).options(name=path.name, lifetime="detached", num_cpus=1, max_restarts=-1)
actor = actor.remote(path.name, 2.0)
assert ray.get(actor.begin.remote(packed(RunFolder.open(path.parent, path.name)), 1)) is not None
assert ray.available_resources().get("CPU", 0) == 1
while path.name in (names := ray.util.list_named_actors()):
    time.sleep(0.5)
while ray.available_resources().get("CPU", 0) < 2:
    time.sleep(0.5)
assert names == [keeper_name(path.name)], names
"""


def test_a_run_that_ends_unfollowed_gives_its_processor_back_and_loses_nothing(images: Path, tmp_path: Path) -> None:
    config = tiny_config(images, "contrastive", steps=40, snapshot_steps=10)
    folder, alone = (RunFolder.create(tmp_path / name, config) for name in ("runs", "alone"))
    made = Cluster(processors=2)
    try:
        command = [sys.executable, "-c", UNFOLLOWED, str(folder.path)]
        done = subprocess.run(command, env=dict(made.environment), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert folder.state().phase == "queued" and not folder.snapshots()
        said, _ = start(
            made, "resume", folder.id, "--runs", str(tmp_path / "runs"), "--ray", made.address
        ).communicate()
        listed = "from trainers.cluster.address import connected; print(connected().util.list_named_actors())"
        left = subprocess.run(
            [sys.executable, "-c", listed], env=dict(made.environment), capture_output=True, text=True
        )
    finally:
        made.close()
    assert folder.state().phase == "finished", said
    assert left.stdout.strip() == "[]", left
    Worker(alone).run()
    final = [
        {(s.step, s.key): s.value for s in run.scalars() if s.key.startswith("test/") and "seconds" not in s.key}
        for run in (alone, folder)
    ]
    assert final[0] == final[1] and [row[:2] for row in alone.snapshots()] == [row[:2] for row in folder.snapshots()]
    assert (folder.path / "log.txt").read_text().count("  device: ") == 1
    weights = [load_file(run.path / "ckpt" / "last.safetensors") for run in (alone, folder)]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())
