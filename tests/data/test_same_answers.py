"""The same files are read the same from a folder, a zip file and a repository of the Hub: looked at, and loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.data.test_packed import ABCD, FLAT, FORMS, ODD
from tests.data.world import Files, images, written, zipped
from tests.fake_hub import ask as fake_hub_ask
from tests.fake_hub import fake_hub

PROGRAM = """
import json, sys
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.errors import DataError

def answer(source):
    choice = DataChoice(source=source, image_size=16)
    try:
        if len(sys.argv) > 2:
            return [*map(list, load_data(choice).hierarchy.names)]
        report = inspect_data(choice)
        seen = [sorted(report.splits), [[each.name, each.classes, sorted(each.examples)] for each in report.labels]]
        data = load_data(choice)
    except DataError as error:
        return str(error).replace(source, "SOURCE")
    names = [name for part in (data.train, data.test) for name in part.names]
    return [*seen, [list(level) for level in data.hierarchy.names], sorted(names), list(data.notes)]

print(json.dumps([answer(source) for source in json.loads(sys.argv[1])]))
"""
SEMICOLONS = FLAT.replace(",", ";")
LINES = "".join(json.dumps({"file_name": f"{n}.png", "kind": ODD[n // 3]}) + "\n" for n in range(12))
CARD = (
    "---\nconfigs:\n- config_name: default\n  data_files:\n"
    + "".join(f"  - split: {split}\n    path: {split}/**\n" for split in ("train", "test"))
    + "---\n"
)
SPLITS = ("train", "train", "test")
ROWS = "\n".join(["name\tsort\tsplit", *(f"{n}\t{ABCD[n % 4]}\t{SPLITS[n % 3]}" for n in range(12)), ""]).encode()
PLAIN: dict[str, Files] = {
    "table of odd names": {**images("", count=12), "labels.csv": FLAT.encode()},
    "metadata of odd names": {**images("", count=12), "metadata.csv": FLAT.encode(), "README.md": b"Pots."},
    "a card of splits": {
        **images(*(f"train/{name}" for name in ODD)),
        **images(*(f"test/{name}" for name in ODD), first=50),
        "metadata.csv": ("file_name,n\n" + "".join(f"train/{name}/0.png,1\n" for name in ODD)).encode(),
        "README.md": CARD.encode(),
    },
    "lines": {**images("", count=12), "metadata.jsonl": LINES.encode()},
    "semicolons and a figure": {**images("", count=12), "x.csv": SEMICOLONS.encode(), "docs/use.txt": b"No."},
    "a table of splits": {**images("", count=12), "list.tsv": ROWS},
    "tables by split": {
        **images("", count=12),
        "train.csv": FLAT[: FLAT.index("6.png")].encode(),
        "test.csv": b"file_name,kind\n" + FLAT[FLAT.index("6.png") :].encode(),
    },
    "odd names as folders": images(*ODD),
    "code beside": {**images(*ABCD), "read.py": b"raise SystemExit", "boxes.json": b"[]"},
}  # fmt: skip
PAGES = {"a page": {"x.zip": b"<html>", "y.zip": b""}}
SOURCES: dict[str, Files] = {**PLAIN, **{name: files for name, (files, *_) in FORMS.items()}, **PAGES}


@pytest.fixture(scope="module")
def hub() -> Iterator[Any]:
    with fake_hub() as server:
        yield server


def ask(home: Path, hub: Any, sources: list[str], *more: str, **also: str) -> list[Any]:
    answers: list[Any] = fake_hub_ask(PROGRAM, hub.url, home, sources, *more, PYTHONWARNINGS="error", **also)
    return answers


def named(name: str) -> str:
    """Return the name of a repository."""
    return f"lab/{name.replace(' ', '-')}"


def test_a_repository_is_read_as_its_folder_is(hub: Any, tmp_path: Path) -> None:
    folders = [str(written(tmp_path / named(name), files)) for name, files in SOURCES.items()]
    for name, files in SOURCES.items():
        hub.write("datasets", named(name), files)
    own = ask(tmp_path, hub, folders)
    there = ask(tmp_path, hub, [*map(named, SOURCES)])
    for name, folder, repository in zip(SOURCES, own, there, strict=True):
        assert repository == folder, name
    without = ask(tmp_path, hub, [*map(named, PLAIN)], "load", HF_HUB_OFFLINE="1")
    assert without == [answer[2] for answer in there[: len(PLAIN)]], "decoded images are found without a network"


def test_a_zip_file_is_read_as_its_folder_is(hub: Any, tmp_path: Path) -> None:
    folders = [str(written(tmp_path / name, files)) for name, files in PLAIN.items()]
    packs = [str(written(tmp_path, {f"{name}.zip": zipped(files)}) / f"{name}.zip") for name, files in PLAIN.items()]
    for name, folder, pack in zip(PLAIN, ask(tmp_path, hub, folders), ask(tmp_path, hub, packs), strict=True):
        assert pack == folder, name
