"""Files beside the images that somebody may have meant to be read: named, with what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from explorer.page.form.images import looked_at
from tests.data.world import write_tree
from trainers.config import DataChoice
from trainers.data import inspect_data


@pytest.fixture(params=["folder", "zip"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Four classes with images of another format, a table and what nobody means to be read."""
    root = tmp_path / "photos"
    write_tree(root, ["a", "b", "c", "d"])
    for number in range(3):
        (root / "a" / f"{number}.heic").write_bytes(b"\\0\\0\\0 ftypheic")
    for name in ("labels.csv", "notes.txt", ".DS_Store"):
        (root / name).write_text("file,label")
    return str(root) if request.param == "folder" else shutil.make_archive(str(root), "zip", root)


def test_foreign_images_and_tables_are_named(place: str) -> None:
    report = inspect_data(DataChoice(source=place))
    assert not report.problems
    foreign, table = (next(note for note in report.notes if words in note) for words in (".heic", "labels.csv"))
    assert foreign == "Left out, since they cannot be read here: 3 .heic. Save them as JPEG or PNG."
    assert table == "labels.csv is not used: it has no rows." and "notes" not in foreign
    said = looked_at(DataChoice(source=place))["said"]
    assert {foreign, table} <= set(said) and any(line.endswith(" images.") for line in said)


def test_they_are_told_beside_a_problem_too(tmp_path: Path) -> None:
    write_tree(tmp_path / "photos", ["images"])
    (tmp_path / "photos" / "labels.csv").write_text("file,label")
    seen = looked_at(DataChoice(source=str(tmp_path / "photos")))
    assert seen["problems"] and any("labels.csv is not used" in line for line in seen["said"])
