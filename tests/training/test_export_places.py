"""Where an exported encoder is written: only to files, with the permissions of any new file, and never half."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.tiny import tiny_config, trained, write_images
from trainers.cli.main import main
from trainers.runs import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("made")
    return trained(folder / "runs", tiny_config(write_images(folder / "images"), "smooth_ap", steps=1))


def export(run: RunFolder, out: Path) -> int:
    return main(["export", run.id, "--runs", str(run.path.parent), "--out", str(out)])


def made(kind: str, place: Path) -> Path:
    """Something that is no file, in a folder of the test's own: never the machine's devices."""
    out = place / "out"
    if kind == "pipe":
        os.mkfifo(out)
    elif kind == "folder":
        out.mkdir()
    elif kind == "device":
        try:
            os.mknod(out, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        except PermissionError:
            pytest.skip("a device node cannot be made here (that takes root)")
    else:
        os.mkfifo(place / "pipe")
        out.symlink_to(place / "pipe")
    return out


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link to a pipe"])
def test_what_is_no_file_stays_what_it_is(
    run: RunFolder, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = made(kind, tmp_path)
    before = out.lstat()
    assert export(run, out) == 1
    assert "not a file" in capsys.readouterr().err
    assert (out.lstat().st_mode, out.lstat().st_ino) == (before.st_mode, before.st_ino)


def test_another_ending_than_what_is_written_is_refused(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(run, tmp_path / "x.pt") == 1 and not (tmp_path / "x.pt").exists()
    assert "What is written here is a .safetensors file; got --out x.pt." in capsys.readouterr().err


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_file_has_the_permissions_that_the_umask_leaves(run: RunFolder, mask: int, tmp_path: Path) -> None:
    old = os.umask(mask)
    try:
        assert export(run, tmp_path / "out") == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o666 & ~mask


def test_a_link_to_a_file_is_written_through(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "out").symlink_to("file")
    assert export(run, tmp_path / "out") == 0
    assert (tmp_path / "out").is_symlink() and (tmp_path / "file").stat().st_size > 1000


@pytest.mark.parametrize("small_disk", ["8k"], indirect=True)
def test_a_full_disk_is_said_of_the_export_and_not_of_the_run(
    run: RunFolder, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(run, small_disk / "out") == 1
    said = capsys.readouterr().err
    assert "The disk is full. Free some space, then export again" in said and "resume" not in said
    assert not list(small_disk.iterdir())


@pytest.mark.parametrize("small_disk", ["8k"], indirect=True)
def test_a_run_that_finds_no_room_is_not_to_be_resumed(
    small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = write_images(tmp_path / "images", train=4, test=3)
    runs = ["--data", str(images), "--steps", "1", "--runs", str(small_disk)]
    for verb in ("train", "sweep"):
        assert main([verb, "--losses", "smooth_ap", *runs]) == 1
        said = capsys.readouterr().err
        assert "The disk is full. Free some space, then start the run again" in said and "resume" not in said
        assert not list(small_disk.iterdir())
