"""A run that was given to a cluster is trained nowhere else, unless the cluster says that it has it no more."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.settings import Settings
from tests.tiny import tiny_config, write_images
from trainers import worker
from trainers.cli.main import main
from trainers.cluster import address, holding
from trainers.cluster.holding import NAME, has_record, read_record, write_record
from trainers.errors import RunError, UserError
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock
from trainers.training.executor import Device, Ended, ProcessExecutor

NOBODY = "127.0.0.1:1"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run that a cluster has, at an address where nobody answers; its trainer is gone."""
    monkeypatch.setenv(address.MODE, address.TOKEN)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a" * 64)
    monkeypatch.setenv(address.VARIABLE, "")
    config = tiny_config(write_images(tmp_path / "images"), "contrastive", steps=2)
    folder = RunFolder.create(tmp_path / "runs", config)
    folder.db.set_state(dataclasses.replace(folder.db.state(), phase="running", step=1))
    write_record(folder, NOBODY)
    return folder


def answers(monkeypatch: pytest.MonkeyPatch, answer: bool) -> list[tuple[str, str]]:
    """Have every cluster answer so; returns what was asked."""
    asked: list[tuple[str, str]] = []

    def has_run(at: str, run_id: str) -> bool:
        asked.append((at, run_id))
        return answer

    monkeypatch.setattr(holding, "has_run", has_run)
    return asked


def test_the_cluster_is_asked_and_forgotten_only_if_it_says_so(
    made: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, True)
    assert holding.cluster_with(made) == NOBODY and has_record(made)
    holding.release(made)
    assert asked == [(NOBODY, made.id)] * 2 and has_record(made), "it answers: it is not gone"
    asked = answers(monkeypatch, False)
    assert holding.cluster_with(made) == "" and not has_record(made)
    assert holding.cluster_with(made) == "" and len(asked) == 1


@pytest.mark.parametrize("token", ["", "b" * 64])
def test_an_address_is_believed_that_this_machine_could_have_written(
    made: RunFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token: str
) -> None:
    """The token would be told to whoever listens at an address in a folder of somebody else."""
    asked = answers(monkeypatch, True)
    monkeypatch.setenv("RAY_AUTH_TOKEN", token)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(RunError, match="was not written with the token of this machine"):
        holding.cluster_with(made)
    assert not asked and has_record(made)
    (tmp_path / "none").write_text("a" * 64 + "\n")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "")
    assert holding.cluster_with(made) == NOBODY
    other = RunFolder.create(made.path.parent, made.config)
    (other.path / NAME).write_bytes((made.path / NAME).read_bytes())
    with pytest.raises(RunError, match="was not written with the token"):
        holding.cluster_with(other)


@pytest.mark.parametrize("content", [b"", b"{}", b"x" * 2000, b'{"version":1,"address":"a b","proof":""}'])
def test_a_record_that_cannot_be_read_is_said(made: RunFolder, content: bytes) -> None:
    (made.path / NAME).write_bytes(content)
    with pytest.raises(RunError, match=f"{NAME} of run {made.id} cannot be read"):
        read_record(made)
    assert has_record(made)


def test_a_run_of_a_cluster_that_gives_no_answer_is_trained_once_somebody_says_that_it_is_gone(
    made: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    words = ["resume", made.id, "--runs", str(made.path.parent)]
    before = made.db.state()
    assert main(words) == 1
    said = capsys.readouterr().err
    assert f"resume {made.id} --forget-cluster" in said and "Nothing answers at" in said, said
    assert made.db.state() == before and has_record(made)
    assert worker.main([str(made.path)]) == 1 and made.db.state() == before
    assert len(capsys.readouterr().err.strip()) <= 300, "a page shows so many letters"
    lock = RunLock(made.path)
    assert lock.acquire()
    assert main([*words, "--forget-cluster"]) == 1 and has_record(made)
    lock.release()
    assert main([*words, "--forget-cluster"]) == 0
    assert made.db.state().phase == "finished" and not has_record(made)


def test_a_finished_run_is_finished_whether_its_cluster_answers_or_not(
    made: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made.db.set_state(dataclasses.replace(made.db.state(), phase="finished", step=2))

    def silent(_at: str, _run_id: str) -> bool:
        raise UserError("no answer")

    monkeypatch.setattr(holding, "has_run", silent)
    assert main(["resume", made.id, "--runs", str(made.path.parent)]) == 0
    assert "is finished; there is nothing to resume" in capsys.readouterr().out and has_record(made)


class Noted(ProcessExecutor):
    """Starts nothing, and says what it was told to."""

    def __init__(self) -> None:
        super().__init__()
        self.launched: list[str] = []
        self.ended: list[Ended] = []

    def launch(self, folder: Path, device: Device) -> None:
        self.launched.append(folder.name)

    def reap(self) -> list[Ended]:
        ended, self.ended = self.ended, []
        return ended


@pytest.mark.parametrize("phase", ["starting", "running", "paused", "finished"])
def test_a_page_follows_a_run_of_a_cluster_again_when_it_starts(made: RunFolder, phase: str) -> None:
    made.db.set_state(dataclasses.replace(made.db.state(), phase=phase))
    plain = RunFolder.create(made.path.parent, made.config)
    plain.db.set_state(made.db.state())
    noted = Noted()
    scheduler = Scheduler(Settings(runs=made.path.parent), noted)
    scheduler.tick()
    assert noted.launched == [made.id]
    assert made.db.state().phase == phase
    scheduler.close()


@pytest.mark.parametrize("code", [-9, 1])
def test_a_page_follows_a_run_again_whose_follower_was_killed(made: RunFolder, code: int) -> None:
    noted = Noted()
    scheduler = Scheduler(Settings(runs=made.path.parent), noted)
    scheduler.tick()
    noted.ended = [Ended(id=made.id, code=code, last_line="no")]
    scheduler.tick()
    assert noted.launched == [made.id] * (2 if code < 0 else 1)
    assert made.db.state().error is None and made.state().phase == "interrupted"
    scheduler.close()


@pytest.mark.parametrize("has_it", [True, False, None])
def test_a_run_is_deleted_unless_its_cluster_says_that_it_has_it(
    made: RunFolder, monkeypatch: pytest.MonkeyPatch, has_it: bool | None
) -> None:
    made.db.set_state(dataclasses.replace(made.db.state(), phase="interrupted"))
    if has_it is not None:
        answers(monkeypatch, has_it)
    settings = Settings(runs=made.path.parent)
    runs = Runs(settings, Scheduler(settings, Noted()))
    if has_it:
        with pytest.raises(RunError, match=f"cluster at {NOBODY} has run .* stop it there"):
            runs.delete(made.id, "")
        assert made.present and has_record(made)
    else:
        runs.delete(made.id, "")
        assert not made.path.exists()
