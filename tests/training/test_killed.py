"""Runs that lost numbers, that are resumed though finished, and that are deleted or moved under their trainers.

Trainers are killed at every kind of moment by tests/campaigns/kill.py.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny import tiny_config, write_images
from tests.training.conftest import Trainers
from tests.training.test_store import frame
from tests.waiting import wait
from trainers.cli.main import main
from trainers.config import RunConfig
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder, new_id
from trainers.worker import Worker

STEPS = 6
LONG = 100_000  # steps; never reached


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # enough of them that scoring takes a while
    return write_images(tmp_path_factory.mktemp("images"), test=150, each=8)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, images: Path) -> RunFolder:
    """A run that nothing happened to."""
    folder = RunFolder.create(tmp_path_factory.mktemp("whole"), config(images))
    assert Worker(folder).run().phase == "finished"
    return folder


def config(images: Path, **changes: object) -> RunConfig:
    return tiny_config(images, "supcon_out", "contrastive", **({"steps": STEPS, "snapshot_steps": 3} | changes))


def repeated(folder: RunFolder) -> list[tuple[object, ...]]:
    rows = folder.db.rows("SELECT arm, step, key FROM metrics")
    return [row for row, count in Counter(rows).items() if count > 1]


def single_numbers(folder: RunFolder) -> dict[tuple[int, int, str], float]:
    """Those that are no speeds and no means over a stretch of time."""
    timed = ("images_per_s", "loss", "test/processor_seconds")
    return {(s.arm, s.step, s.key): s.value for s in folder.scalars() if s.key not in timed}


def last_words(child: subprocess.Popen[bytes]) -> list[str]:
    assert child.stderr is not None
    with child.stderr as stream:
        return stream.read().decode().splitlines()


def test_a_run_that_lost_its_first_numbers_gets_them_back(tmp_path: Path, images: Path, whole: RunFolder) -> None:
    """Earlier versions wrote them after the probe, and never again."""
    folder = RunFolder.create(tmp_path, config(images))
    MetricLearningLoop(folder)
    folder.db.write("DELETE FROM metrics")
    assert folder.probe() is not None
    assert Worker(folder).run().phase == "finished"
    assert single_numbers(folder) == single_numbers(whole)


def test_resuming_a_finished_run_says_so_and_changes_nothing(
    tmp_path: Path, whole: RunFolder, trainers: Trainers, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(whole.path, tmp_path / whole.id)
    folder = RunFolder.open(tmp_path, whole.id)
    before, log = folder.db.rows("SELECT * FROM metrics"), (folder.path / "log.txt").read_text()
    assert main(["resume", folder.id, "--runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "is finished; there is nothing to resume" in said and "whole test set, 1,200 images" in said
    assert trainers.start(folder).wait(60) == 0
    assert folder.state().phase == "finished"
    assert folder.db.rows("SELECT * FROM metrics") == before and (folder.path / "log.txt").read_text() == log


@pytest.mark.parametrize(
    "when",
    [pytest.param("setting up", marks=pytest.mark.long), "training", pytest.param("scoring", marks=pytest.mark.long)],
)
def test_deleted_under_its_trainer_a_run_ends_and_stays_gone(
    tmp_path: Path, images: Path, trainers: Trainers, when: str
) -> None:
    changes = {"setting up": {"steps": LONG}, "training": {"steps": LONG}, "scoring": {}}[when]
    folder = RunFolder.create(tmp_path, config(images, **changes))
    child = trainers.start(folder, stderr=subprocess.PIPE)
    points: dict[str, Callable[[], bool]] = {
        "setting up": lambda: (folder.path / "log.txt").exists(),
        "training": lambda: folder.db.state().step > 2,
        "scoring": lambda: folder.db.state().message.startswith(("embedding", "scoring")),
    }
    wait(points[when], 120)
    folder.db.close()
    shutil.rmtree(folder.path, ignore_errors=True)
    assert child.wait(60) == 1
    (line,) = last_words(child)
    assert line == f"The run {folder.id} was deleted or moved while it trained, so its training has ended."
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_moved_under_its_trainer_a_run_is_whole_in_its_new_place(
    tmp_path: Path, images: Path, trainers: Trainers
) -> None:
    folder = RunFolder.create(tmp_path / "old", config(images, steps=LONG))
    child = trainers.start(folder, stderr=subprocess.PIPE)
    wait(lambda: (folder.path / "ckpt" / "last.safetensors").exists(), 120)
    folder.db.close()
    (tmp_path / "new").mkdir()
    folder.path.rename(tmp_path / "new" / folder.id)
    assert child.wait(60) == 1
    assert len(last_words(child)) == 1
    assert not list((tmp_path / "old").iterdir())
    moved = RunFolder.open(tmp_path / "new", folder.id)
    assert moved.state().phase == "interrupted"
    again = MetricLearningLoop(moved)
    assert again.step > 0 and not repeated(moved)


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
