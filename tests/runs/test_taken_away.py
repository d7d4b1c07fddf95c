"""A database whose files are taken away while a connection to it is open."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.synthetic import make_run
from trainers.errors import RunError


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


def replaced_by_a_pipe(folder: Path) -> None:
    shutil.rmtree(folder)
    os.mkfifo(folder)


def another_database(folder: Path) -> None:
    other = make_run(folder.parent / "other", phase="queued")
    other.db.set_state(dataclasses.replace(other.db.state(), message="the other"))
    other.db.close()
    shutil.rmtree(folder)
    shutil.copytree(other.path, folder)


@pytest.mark.parametrize("harm", [gone, replaced_by_a_pipe])
def test_what_was_taken_away_is_neither_read_nor_written(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    made = make_run(tmp_path / "made", phase="queued")
    made.db.close()
    path = shutil.copytree(made.path, tmp_path / made.id)
    folder = type(made).open(path.parent, made.id)
    state = folder.db.state()
    harm(path)
    for act in (folder.db.state, lambda: folder.db.set_state(state)):
        with pytest.raises(RunError):
            act()
    assert not folder.db.is_open


def test_what_lies_there_now_is_read(tmp_path: Path) -> None:
    folder = make_run(tmp_path, phase="queued")
    assert folder.db.state().message == "made up"
    another_database(folder.path)
    assert folder.db.state().message == "the other"
    folder.db.close()
