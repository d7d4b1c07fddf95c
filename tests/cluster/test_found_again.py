"""A run whose follower died is found again on its cluster, by commands and a page that name none."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.campaigns._page import LivePage
from tests.cluster.cluster import Cluster
from tests.cluster.test_cluster import SECONDS, ended, proxies, reached, start, words
from tests.tiny import tiny_config, write_images
from tests.waiting import wait
from trainers.cluster.address import VARIABLE
from trainers.cluster.holding import has_record, read_record
from trainers.runs import RunFolder, list_runs
from trainers.runs.records import RunState

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster(processors=2)
    yield made
    made.close()


@pytest.fixture
def told(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The cluster's token in the environment, but not its address."""
    token = {name: value for name, value in cluster.environment.items() if name != VARIABLE}
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


def asked(cluster: Cluster, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"from trainers.cluster.address import connected; ray = connected(); {program}"],
        env=dict(cluster.environment),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ACTORS = "print(ray.util.list_named_actors())"


@pytest.mark.usefixtures("told")
def test_a_run_that_nobody_follows_is_followed_and_not_trained_twice(cluster: Cluster, tmp_path: Path) -> None:
    images, root = write_images(tmp_path / "images"), tmp_path / "runs"
    run = ["train", *words(images, "--losses", "contrastive", "--steps", "100000"), "--runs", str(root)]
    first = start(None, *run, "--ray", cluster.address)
    wait(lambda: reached(root) > 20, SECONDS)
    (folder,) = list_runs(root)
    record = read_record(folder)
    assert record is not None and record.is_of(folder)
    assert record.address.rpartition(":")[2] == cluster.address.rpartition(":")[2]
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
    assert not has_record(folder) and asked(cluster, ACTORS) == "[]"
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
from trainers.cluster.address import address, connected
from trainers.cluster.proxy import write
from trainers.cluster.packing import Seen, packed
from trainers.cluster.holding import write_record
from trainers.cluster.remote import Remote
from trainers.runs import RunFolder

ray, path = connected(), Path(sys.argv[1])
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
def test_what_a_cluster_keeps_of_a_finished_run_is_taken(
    cluster: Cluster, tmp_path: Path, linger: float, by: str
) -> None:
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=20, snapshot_steps=10)
    folder = RunFolder.create(tmp_path / "runs", config)
    done = subprocess.run(
        [sys.executable, "-c", LEFT, str(folder.path), str(linger)],
        env=dict(cluster.environment),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and folder.id in done.stdout, done.stderr
    state, numbers = folder.db.state(), folder.scalars()
    assert state.phase == "finished" and has_record(folder)
    if by == "page":
        with LivePage(folder.path.parent, patience=400):
            wait(lambda: not has_record(folder), SECONDS)
    else:
        said, _ = start(None, "resume", folder.id, "--runs", str(folder.path.parent)).communicate(timeout=300)
        assert "finished after" in said, said
    assert asked(cluster, ACTORS) == "[]" and not has_record(folder)
    assert same(folder.db.state(), state) and sorted(map(str, folder.scalars())) == sorted(map(str, numbers))
    folder.db.close()


def same(one: RunState, other: RunState) -> bool:
    return (one.phase, one.step, one.seconds, one.message) == (other.phase, other.step, other.seconds, other.message)
