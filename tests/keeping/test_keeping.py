"""Runs that outlive a disk: copied whole or not at all, taken in again once, whatever is in the folder of copies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from explorer.keeping.keeper import Keeper
from explorer.keeping.mounts import check_local, file_system
from tests.synthetic import make_run
from trainers.errors import RunError
from trainers.runs import RunFolder, list_runs
from trainers.runs.atomic_files import write_bytes
from trainers.runs.copies import DELETED, MANIFEST, kept_ids, read_manifest, restore, write_copy

COPIES = """
import sys
from pathlib import Path
from trainers.runs.copies import write_copy
from trainers.runs import RunFolder
root, into = map(Path, sys.argv[1:])
while True:
    for path in sorted(root.iterdir()):
        write_copy(RunFolder(path), into)
        print("copied", flush=True)
    (path / "log.txt").write_text("more\\n" * 200_000)
"""


def contents(path: Path) -> dict[str, bytes]:
    """Every file of a run that a copy holds, by name."""
    left_out = ("lock", "ballast", "run.db-wal", "run.db-shm")
    files = (one for one in path.rglob("*") if one.is_file() and one.name not in left_out)
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files if file.name != "run.db"}


@pytest.fixture
def disks(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A disk with a run, what is mounted beside it, and the disk of the machine that comes after it."""
    root, into, after = (tmp_path / name for name in ("runs", "mounted", "after"))
    for path in (root, into, after):
        path.mkdir()
    make_run(root, points=30, frames=2).db.close()
    return root, into, after


def test_a_run_comes_back_as_it_was_and_only_once(disks: tuple[Path, Path, Path]) -> None:
    root, into, after = disks
    (run,) = list_runs(root)
    keeper = Keeper(root, into / "rankscope")
    keeper.look()
    assert keeper.kept(run).whole and keeper.problem == ""
    run.log("one more line")
    assert not keeper.kept(run).whole, "what a restart would lose is not shown as kept"
    keeper.look()
    assert keeper.kept(run).whole
    taken: list[str] = []
    second = Keeper(after, into / "rankscope", lambda folder: taken.append(folder.id))
    second.look()
    second.look()
    (back,) = list_runs(after)
    assert taken == [run.id] == [back.id]
    assert contents(back.path) == contents(run.path) and back.state() == run.state()
    assert [scalar.key for scalar in back.scalars()] == [scalar.key for scalar in run.scalars()]


def test_a_deleted_run_stays_deleted_for_every_program_with_the_folder(disks: tuple[Path, Path, Path]) -> None:
    root, into, after = disks
    (run,) = list_runs(root)
    first, other = Keeper(root, into), Keeper(after, into)
    first.look()
    first.forget(run.id)
    assert [path.name for path in (into / run.id).iterdir()] == [DELETED]
    first.look()
    other.look()
    assert kept_ids(into) == [] and list_runs(after) == [] and not (into / run.id / MANIFEST).exists()


@pytest.mark.parametrize("damage", ["cut", "changed", "missing", "linked", "manifest", "names"])
def test_a_bad_copy_gives_nothing_and_stops_no_other(disks: tuple[Path, Path, Path], damage: str) -> None:
    root, into, after = disks
    good = make_run(root, points=30, frames=1)
    for run in list_runs(root):
        write_copy(run, into)
    bad = next(run for run in list_runs(root) if run.id != good.id)
    manifest = read_manifest(into / bad.id)
    assert manifest is not None
    content = into / bad.id / manifest.files["config.json"].sha256
    outside = into.parent / "secret"
    outside.write_text("secret")
    if damage == "cut":
        content.write_bytes(content.read_bytes()[:-1])
    elif damage == "changed":
        content.write_bytes(content.read_bytes().replace(b"smooth_ap", b"smooth_xx"))
    elif damage == "missing":
        content.unlink()
    elif damage == "linked":
        content.unlink()
        content.symlink_to(outside)
    elif damage == "manifest":
        (into / bad.id / MANIFEST).write_text("[" * 100_000)
    else:
        about = json.loads((into / bad.id / MANIFEST).read_text())
        about["files"]["../../out.txt"] = about["files"]["config.json"]
        (into / bad.id / MANIFEST).write_text(json.dumps(about))
    keeper = Keeper(after, into)
    keeper.look()
    assert [run.id for run in list_runs(after)] == [good.id] and keeper.problem == ""
    assert not list(after.parent.glob("out.txt")) and not [
        path for path in after.iterdir() if path.name.endswith(".tmp")
    ]


def test_a_writer_that_is_killed_leaves_a_whole_copy(disks: tuple[Path, Path, Path]) -> None:
    root, into, after = disks
    for number in range(4):
        process = subprocess.Popen([sys.executable, "-c", COPIES, str(root), str(into)], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"copied\n"
        time.sleep(0.003 * number)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        (run_id,) = kept_ids(into)
        manifest = read_manifest(into / run_id)
        assert manifest is not None
        made = restore(manifest, into, after)
        assert made is not None and made.state().phase == "finished"
        made.db.close()
        shutil.rmtree(made.path)


def test_a_mounted_folder_that_goes_is_said_and_kept_again_when_it_is_back(disks: tuple[Path, Path, Path]) -> None:
    root, into, _ = disks
    (run,) = list_runs(root)
    keeper = Keeper(root, into)
    keeper.look()
    into.rename(into.with_name("gone"))
    into.mkdir()  # the mount point alone
    run.log("while it is gone")
    keeper.look()
    assert "the folder for it is not there" in keeper.problem and str(into) not in keeper.problem
    assert not keeper.kept(run).whole and list(into.iterdir()) == [], "nothing is written below the mount point"
    into.rmdir()
    into.with_name("gone").rename(into)
    keeper.look()
    assert keeper.problem == "" and keeper.kept(run).whole


def test_of_two_programs_on_one_folder_of_runs_one_writes(disks: tuple[Path, Path, Path]) -> None:
    root, into, _ = disks
    (run,) = list_runs(root)
    first, second = Keeper(root, into), Keeper(root, into)
    first.look()
    before = {path: path.stat().st_mtime_ns for path in into.rglob("*")}
    run.log("more")
    second.look()
    assert {path: path.stat().st_mtime_ns for path in into.rglob("*")} == before
    assert second.kept(run).step is not None and not second.kept(run).whole


def test_runs_on_a_network_file_system_are_refused_with_the_way_out(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    line = "36 35 0:34 / {} rw,relatime shared:1 - {} server:/export rw\n"
    table.write_text(line.format("/", "ext4") + line.format(str(tmp_path / "far"), "nfs4"))
    assert file_system(tmp_path, table) == "ext4"
    check_local(tmp_path / "runs", table)
    with pytest.raises(RunError, match=r"Runs need a local disk.*nfs4.*--keep"):
        check_local(tmp_path / "far" / "runs", table)


def test_the_queue_goes_on_with_a_run_that_waited(disks: tuple[Path, Path, Path]) -> None:
    root, into, after = disks
    waiting = make_run(root, phase="queued")
    for run in list_runs(root):
        write_copy(run, into)
    taken: list[RunFolder] = []
    Keeper(after, into, taken.append).look()
    assert {run.id: run.state().phase for run in taken}[waiting.id] == "queued"
    write_bytes(into / "stray", b"")  # what others put there is passed over
    os.mkfifo(into / "pipe")
    Keeper(after, into).look()
