"""Two nodes of a Ray cluster on this machine: what is killed is lost nowhere, and is found again unnamed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.campaigns._page import LivePage
from tests.cluster.cluster import Cluster
from tests.tiny import tiny_config, write_images
from tests.waiting import wait
from trainers.cluster.address import VARIABLE
from trainers.cluster.holding import FORGET, has_record, read_record
from trainers.runs import RunFolder, list_runs
from trainers.runs.records import RunState

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
    for run in runs:
        run.db.close()


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


ACTORS = "print(ray.util.list_named_actors())"


@pytest.fixture(scope="module")
def lone() -> Iterator[Cluster]:
    made = Cluster(processors=2)
    yield made
    made.close()


@pytest.fixture
def told(lone: Cluster, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The cluster's token in the environment, but not its address."""
    token = {name: value for name, value in lone.environment.items() if name != VARIABLE}
    for name, value in token.items():
        monkeypatch.setenv(name, value)
    return token


def workers(run_id: str) -> list[tuple[psutil.Process, Path]]:
    """The processes that were started to train a run, and the folder of each."""
    every = [(process, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    named = [(process, Path(words[-1])) for process, words in every if "trainers.worker" in words]
    return [(process, path) for process, path in named if path.name == run_id]


def trained(run: RunFolder) -> set[Path]:
    """The folders, other than its own, in which trainers train a run now."""
    return {path for _, path in workers(run.id)} - {run.path}


def unfollowed(root: Path) -> None:
    """Kill every process that follows a run."""
    for proxy in proxies(root):
        with contextlib.suppress(psutil.Error):
            proxy.kill()
    wait(lambda: not proxies(root))


@pytest.mark.usefixtures("told")
def test_a_run_that_nobody_follows_is_followed_and_not_trained_twice(lone: Cluster, tmp_path: Path) -> None:
    images, root = write_images(tmp_path / "images"), tmp_path / "runs"
    run = ["train", *words(images, "--losses", "contrastive", "--steps", "100000"), "--runs", str(root)]
    first = start(None, *run, "--ray", lone.address)
    wait(lambda: reached(root) > 20, SECONDS)
    (folder,) = list_runs(root)
    record = read_record(folder)
    assert record is not None and record.is_of(folder)
    assert record.address.rpartition(":")[2] == lone.address.rpartition(":")[2]
    (there,) = trained(folder)
    ended(first)
    unfollowed(root)
    before = folder.db.state().step
    second = start(None, "resume", folder.id, "--runs", str(root))
    wait(lambda: folder.state().step > before, SECONDS)
    assert trained(folder) == {there} and len(proxies(root)) == 1
    ended(second)
    unfollowed(root)
    before = folder.db.state().step
    wait(lambda: folder.state().phase == "interrupted")
    with LivePage(root, patience=400):
        wait(lambda: folder.state().step > before, SECONDS)
        assert trained(folder) == {there}
        before = folder.db.state().step
        (standing,) = {one.pid for one, path in workers(folder.id) if path == folder.path and heads(one)}
        psutil.Process(standing).kill()
        wait(lambda: folder.is_alive() and folder.db.state().step > before + 50, SECONDS)
        assert trained(folder) == {there}
        folder.send("stop")
        wait(lambda: folder.state().phase == "stopped" and not folder.is_alive(), SECONDS)
    assert not has_record(folder) and lone.asked(ACTORS) == "[]"
    assert (folder.path / "log.txt").read_text().count("  device: ") == 1
    third = start(None, "resume", folder.id, "--runs", str(root))
    wait(lambda: folder.state().phase == "running", SECONDS)
    assert not trained(folder)
    folder.send("stop")
    said = third.communicate(timeout=120)[0]
    assert "stopped" in said and "Ray" not in said, said
    folder.db.close()


def heads(process: psutil.Process) -> bool:
    """Whether it is no fork of another one with the same command."""
    parent = process.parent()
    return parent is None or parent.cmdline() != process.cmdline()


LEFT = """
import sys, time
from pathlib import Path
from trainers.cluster.address import address
from trainers.cluster.proxy import write
from trainers.cluster.packing import Seen, packed
from trainers.cluster.holding import write_record
from trainers.cluster.remote import Remote
from trainers.runs import RunFolder

path = Path(sys.argv[1])
folder = RunFolder.open(path.parent, path.name)
actor = ray.remote(Remote).options(name=path.name, lifetime="detached", num_cpus=1, max_restarts=-1)
actor = actor.remote(path.name, float(sys.argv[2]))
seen = ray.get(actor.begin.remote(packed(folder), 1))
write_record(folder, address())
while True:
    written = ray.get(actor.look.remote(seen))
    write(folder, written)
    seen = written.seen
    if written.code is not None:
        break
    time.sleep(0.5)
while float(sys.argv[2]) < 60 and path.name in ray.util.list_named_actors():
    time.sleep(0.5)
print(ray.util.list_named_actors())
"""
"""A proxy that dies between its last write and its clean-up: before or after the actor has left its processor."""


@pytest.mark.parametrize("linger", [2.0, 60.0], ids=["keeper", "actor"])
@pytest.mark.parametrize("by", ["resume", "page"])
@pytest.mark.usefixtures("told")
def test_what_a_cluster_keeps_of_a_finished_run_is_taken(lone: Cluster, tmp_path: Path, linger: float, by: str) -> None:
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=20, snapshot_steps=10)
    folder = RunFolder.create(tmp_path / "runs", config)
    assert folder.id in lone.asked(LEFT, str(folder.path), str(linger))
    state, numbers = folder.db.state(), folder.scalars()
    assert state.phase == "finished" and has_record(folder)
    if by == "page":
        with LivePage(folder.path.parent, patience=400):
            wait(lambda: not has_record(folder), SECONDS)
    else:
        said, _ = start(None, "resume", folder.id, "--runs", str(folder.path.parent)).communicate(timeout=300)
        assert "finished after" in said, said
    assert lone.asked(ACTORS) == "[]" and not has_record(folder)
    assert same(folder.db.state(), state) and sorted(map(str, folder.scalars())) == sorted(map(str, numbers))
    folder.db.close()


def same(one: RunState, other: RunState) -> bool:
    return (one.phase, one.step, one.seconds, one.message) == (other.phase, other.step, other.seconds, other.message)
