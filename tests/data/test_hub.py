"""Hub sets through the real libraries and real HTTP: limits, and what is kept for a start without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.data.world import write_split
from tests.fake_hub import ask, fake_hub
from trainers.data.hf_logging import online

PROGRAM = """
import json, os, sys
from trainers.data import inspect_data, load_data
from trainers.errors import DataError
from trainers.config import DataChoice

answers = []
for do, limit, choice in json.loads(sys.argv[1]):
    os.environ["RANKSCOPE_DOWNLOAD_GB"] = limit
    seen = []
    choice = DataChoice(image_size=16, **choice)
    try:
        if do == "inspect":
            report = inspect_data(choice)
            columns = report.proposal and report.proposal.label_columns
            answers.append([report.sampled, report.splits, report.image_columns, columns, report.problems])
        else:
            data = load_data(choice, lambda text, fraction: seen.append(text))
            answers.append([data.title, data.licence, data.hierarchy.names, data.notes, seen])
    except DataError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""
BIRDS = {"source": "some/birds"}
LYING = """---
dataset_info:
  features:
  - name: image
    dtype: image
  - name: label
    dtype: int64
  splits:
  - name: train
    num_bytes: 10
    num_examples: 12
  download_size: 10
  dataset_size: 10
---
"""
FOREIGN = "---\nconfigs:\n- config_name: default\n  data_files: {path}\n---\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A set of two splits, one that says wrong sizes, and one that names files of another."""
    root = tmp_path_factory.mktemp("hub") / "datasets" / "some"
    cards = {
        "birds": "---\nlicense: mit\npretty_name: Birds\n---\n",
        "lying": LYING,
        "foreign": FOREIGN.format(path=root / "birds" / "data" / "*"),
    }
    for name, card in cards.items():
        for split in ("train", "test") if name == "birds" else ("train",):
            write_split(root / name, split, {"label": [n // 2 for n in range(12)]})
        (root / name / "README.md").write_text(card)
    with fake_hub(root.parents[1]) as server:
        yield server


def test_a_hub_set_from_first_look_to_a_start_without_network(hub: Any, tmp_path: Path) -> None:
    orders = [("inspect", "1", BIRDS), ("load", "0.000001", BIRDS), ("load", "1", BIRDS), ("inspect", "1", BIRDS)]
    looked, too_large, loaded, looked_again = ask(PROGRAM, hub.url, tmp_path, orders)
    assert looked == [True, {"train": None, "test": None}, ["image"], ["label"], []]
    assert "is a download of 0.0 GB; the limit here is 1e-06 GB" in too_large
    title, licence, names, notes, seen = loaded
    assert (title, licence, names) == ("Birds", "mit", [["0", "1", "2", "3", "4", "5"]])
    assert "share 6 classes" in notes[0] and any("Downloading some/birds" in text for text in seen)
    assert looked_again == [False, {"train": 12, "test": 12}, ["image"], ["label"], []]
    sha = hub.repos["datasets", "some/birds"].sha("main")
    commits = [("load", "1", {**BIRDS, "seed": 1, "revision": commit}) for commit in (sha, sha[::-1])]
    nobody = "http://127.0.0.1:9"
    away, same, other = ask(PROGRAM, nobody, tmp_path, [("load", "1", {**BIRDS, "seed": 1}), *commits])
    assert away[2] == same[2] == names and "at another commit than" in other


def test_sizes_come_from_the_files_and_files_from_the_set(hub: Any, tmp_path: Path) -> None:
    orders = [(do, "0.000001", {"source": "some/lying"}) for do in ("inspect", "load")]
    orders += [(do, "1", {"source": "some/foreign"}) for do in ("inspect", "load")]
    looked, loaded, *foreign = ask(PROGRAM, hub.url, tmp_path, orders)
    assert "is a download of 0.0 GB; the limit here is 1e-06 GB" in loaded
    assert "unpacks to more than 1e-06 GB" in looked  # the look reads some rows before it asks for sizes
    refused = ("names files that are not its own", "don't belong to some/foreign")  # ours, or that of `datasets`
    assert all(any(words in answer for words in refused) for answer in foreign)


def test_no_server_is_no_network(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert not online()
