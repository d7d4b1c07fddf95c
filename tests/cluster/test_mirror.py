"""A run that trains in a copy of its folder leaves in the first folder what it would have left there; it is kept."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.tiny import tiny_config, write_images
from tests.training.reopened import numbers
from trainers.cluster import address
from trainers.cluster.packing import Seen, packed, unpack, written_since
from trainers.cluster.proxy import rewind, write
from trainers.cluster.remote import PREFIX, Keeper, remove_abandoned
from trainers.data import access
from trainers.errors import RunError, UserError
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock
from trainers.worker import Worker


def elsewhere(folder: RunFolder, root: Path) -> tuple[RunFolder, Seen]:
    """The copy of a run on another machine, and how much of it is known here."""
    unpack(packed(folder), root)
    copy = RunFolder.open(root, folder.id)
    return copy, written_since(copy, Seen(), None).seen


@pytest.fixture
def made(tmp_path: Path) -> RunFolder:
    config = tiny_config(write_images(tmp_path / "images"))
    return RunFolder.create(tmp_path / "here", config.changed(steps=8, snapshot_steps=2))


def test_all_that_a_trainer_elsewhere_writes_is_read_here(made: RunFolder, tmp_path: Path) -> None:
    copy, seen = elsewhere(made, tmp_path / "there")
    looks = [written_since(copy, seen, None)]
    Worker(copy).run()
    looks.append(written_since(copy, looks[-1].seen, 0))
    for look in looks:
        write(made, look)
    made.check()
    assert made.state().phase == "finished" and made.state().step == 8
    assert numbers(made) == numbers(copy) and made.snapshots() == copy.snapshots()
    for k, _, _ in made.snapshots():
        assert (made.embeddings_path(k)).read_bytes() == copy.embeddings_path(k).read_bytes()
    assert made.probe() is not None and made.sheet(0) == copy.sheet(0)
    assert made.test_queries() is not None
    assert (made.path / "log.txt").read_text() == (copy.path / "log.txt").read_text()
    assert not written_since(copy, looks[-1].seen, 0).files, "nothing travels twice"


def test_a_machine_that_is_lost_costs_what_came_after_the_last_checkpoint(tmp_path: Path) -> None:
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=150, snapshot_steps=50)
    made = RunFolder.create(tmp_path / "here", config)
    copy, seen = elsewhere(made, tmp_path / "lost")
    worker = Worker(copy, watcher=lambda state: worker.leave("interrupted") if state.step >= 3 else None)
    worker.run()
    write(made, written_since(copy, seen, None))
    reached = made.read_checkpoint()
    assert reached is not None and 3 <= reached[1]["step"] < 149
    made.db.write("INSERT INTO metrics (arm, step, seconds, key, value) VALUES (0, 149, 1.0, 'loss', 1.0)")
    rewind(made)
    assert max(step for _, step, _ in numbers(made)) <= reached[1]["step"]
    second, seen = elsewhere(made, tmp_path / "other")
    Worker(second).run()
    write(made, written_since(second, seen, 0))
    alone = RunFolder.create(tmp_path / "alone", made.config)
    Worker(alone).run()
    assert alone.snapshots()[-1][:2] == made.snapshots()[-1][:2]
    final = [{at: value for at, value in numbers(run).items() if at[2].startswith("test/")} for run in (alone, made)]
    assert final[0] == final[1] and final[0]
    weights = [load_file(run.path / "ckpt" / "last.safetensors") for run in (alone, made)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_run_takes_the_run_with_it_that_it_starts_from(made: RunFolder, tmp_path: Path) -> None:
    Worker(made).run()
    second = RunFolder.create(made.path.parent, made.config.changed(start=made.id))
    copy, _ = elsewhere(second, tmp_path / "there")
    assert Worker(copy).run().phase == "finished"
    assert "start: " in (copy.path / "log.txt").read_text()


def test_only_files_of_a_run_come_back(made: RunFolder, tmp_path: Path) -> None:
    copy, seen = elsewhere(made, tmp_path / "there")
    honest = written_since(copy, seen, None)
    for name in (
        "../outside",
        "owner",
        "config.json",
        "emb/../../outside",
        str(tmp_path / "outside"),
        "layout/000000.safetensors",
    ):
        before = sorted(tmp_path.rglob("*"))
        write(made, dataclasses.replace(honest, files={name: b"x"}))
        for afresh in (False, True):
            write(made, dataclasses.replace(honest, tails={name: b"x"}), afresh=afresh)
        assert sorted(tmp_path.rglob("*")) == before
    assert b"x" not in ((made.path / "config.json").read_bytes()[-1:], (made.path / "owner").read_bytes()[-1:])
    with pytest.raises(RunError, match="which is none"):
        write(made, dataclasses.replace(honest, state=dataclasses.replace(honest.state, phase="<b>")))


def test_a_cluster_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.delenv(address.MODE, raising=False)
    monkeypatch.setenv(address.VARIABLE, "")
    with pytest.raises(UserError, match="clusters that ask for a token"):
        address.use("auto")
    monkeypatch.setenv(address.MODE, address.TOKEN)
    address.use("127.0.0.1:1")
    assert address.address() == "127.0.0.1:1"


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(UserError, match="pip install ray"):
        address.use("auto")


@pytest.mark.parametrize("given", ["", "nonsense", "ray://host:1", "http://host:1", "host:1 --x", "host:1\nx"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(UserError, match="auto or HOST:PORT"):
        address.use(given)


@pytest.mark.parametrize("port", [1, 99999])
def test_where_nobody_answers_is_said_at_once(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    monkeypatch.setenv(address.MODE, address.TOKEN)
    monkeypatch.setenv(address.VARIABLE, f"127.0.0.1:{port}")
    with pytest.raises(UserError, match="Nothing answers at"):
        address.connected()


def test_what_strangers_may_read_here_holds_on_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    asked: dict[str, Any] = {}
    monkeypatch.setattr(ray, "init", lambda **options: asked.update(options))
    monkeypatch.setenv(address.MODE, address.TOKEN)
    monkeypatch.setenv(address.VARIABLE, "auto")
    monkeypatch.setenv(access.FOLDERS, "/offered")
    undo = access.serve_strangers()
    try:
        address.connected()
    finally:
        undo()
    told = {access.PUBLIC: "1", access.NO_TOKEN: "1", access.FOLDERS: "/offered"}
    assert asked["runtime_env"]["env_vars"] == told


HOLDER = f"""
import sys, time
from pathlib import Path
from trainers.runs.atomic_files import held
print(held(Path(sys.argv[1]), {PREFIX!r})[0], flush=True)
time.sleep(100)
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of a machine of the cluster."""
    path = tmp_path / "there"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


def holder(there: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(there)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_folders_of_processes_that_are_gone_are_removed_and_no_others(there: Path, tmp_path: Path) -> None:
    alive, dead, leaving = (holder(there) for _ in range(3))
    run = leaving[1] / "run"
    run.mkdir()
    lock = RunLock(run)
    assert lock.acquire()
    foreign, link = there / "rankscope-other", there / f"{PREFIX}link.tmp"
    foreign.mkdir()
    link.symlink_to(tmp_path)
    try:
        for process, _ in (dead, leaving):
            process.kill()
            process.wait()
        remove_abandoned(there)
        assert set(there.iterdir()) == {alive[1], leaving[1], foreign, link} and tmp_path.is_dir()
        lock.release()
        remove_abandoned(there)
        assert set(there.iterdir()) == {alive[1], foreign, link}
    finally:
        for process, _ in (alive, dead, leaving):
            process.kill()
            process.communicate()


def test_a_keeper_has_all_of_a_run_that_has_ended_until_it_is_taken(there: Path, tmp_path: Path) -> None:
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=4, snapshot_steps=2)
    made = RunFolder.create(tmp_path / "here", config)
    copy, _ = elsewhere(made, tmp_path / "machine")
    Worker(copy).run()
    trained, rows = (copy.path / "log.txt").read_bytes(), numbers(copy)
    copy.db.close()
    keeper = Keeper((str(copy.path), 0))
    assert not copy.path.exists() and keeper.holds()
    for _ in range(2):  # a command that follows it may be killed, and another one begins from nothing
        look = keeper.look(Seen())
        write(made, look, afresh=True)
        assert look.code == 0 and numbers(made) == rows and (made.path / "log.txt").read_bytes() == trained
    assert made.state().phase == "finished" and made.has_checkpoint
    keeper.clear()
    assert not list(there.glob(f"{PREFIX}*"))
