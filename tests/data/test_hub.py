"""Hub sets through the real libraries and real HTTP, from a small server on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.data.hub_server import SHA, serve
from tests.data.world import write_split
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
REFUSED = {
    "no/such": "is not on the Hub, or private",
    "gated/set": "is gated: its owner grants access",
    "some/script": "needs its own loading script; scripts are not run",
    "some/text": "holds no images or tables",
    "some/two": "has several subsets. Choose one of: left, right.",
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A server with one set, one set of two subsets, one script and one text-only set."""
    root = tmp_path_factory.mktemp("hub")
    labels = {"label": [n // 2 for n in range(12)]}
    for split in ("train", "test"):
        write_split(root / "some" / "birds", split, labels)
    (root / "some" / "birds" / "README.md").write_text("---\nlicense: mit\npretty_name: Birds\n---\n")
    write_split(root / "some" / "two", "train", labels)
    configs = "".join(f"- config_name: {name}\n  data_files: data/train-*\n" for name in ("left", "right"))
    (root / "some" / "two" / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    (root / "some" / "script").mkdir()
    (root / "some" / "script" / "script.py").write_text("raise SystemExit")
    (root / "some" / "text").mkdir()
    (root / "some" / "text" / "README.md").write_text("Nothing here.")
    server = serve(root)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    if thread.is_alive():
        server.shutdown()
        thread.join()
    server.server_close()


def ask(home: Path, port: int, *orders: tuple[str, str, dict]) -> list:
    """Answers of a fresh process, since the libraries read the server's address once; it must not print anything."""
    names = {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": str(home / "hf"), "RANKSCOPE_CACHE": str(home)}
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name[:3] != "HF_"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(orders)],
        env={**kept, **names},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert found.stderr == "" and found.returncode == 0
    return json.loads(found.stdout)


def test_a_hub_set_from_first_look_to_a_start_without_network(hub, tmp_path):
    orders = [("inspect", "1", BIRDS), ("load", "0.000001", BIRDS), ("load", "1", BIRDS), ("inspect", "1", BIRDS)]
    refusals = [("load", "1", {"source": source}) for source in REFUSED]
    subset = ("load", "1", {"source": "some/two", "subset": "left"})
    looked, too_large, loaded, looked_again, *rest = ask(tmp_path, hub.server_port, *orders, *refusals, subset)
    assert looked == [True, {"train": None, "test": None}, ["image"], ["label"], []]
    assert "is a download of 0.0 GB; the limit here is 1e-06 GB" in too_large
    title, licence, names, notes, seen = loaded
    assert (title, licence, names) == ("Birds", "mit", [["0", "1", "2", "3", "4", "5"]])
    assert "share 6 classes" in notes[0] and any("Downloading some/birds" in text for text in seen)
    assert looked_again == [False, {"train": 12, "test": 12}, ["image"], ["label"], []]
    for answer, words in zip(rest[:-1], REFUSED.values(), strict=True):
        assert words in answer
    assert len(rest[-1][2][0]) == 6
    commits = [("load", "1", {**BIRDS, "seed": 1, "revision": commit}) for commit in (SHA, SHA[::-1])]
    away, same, other = ask(tmp_path, 9, ("load", "1", {**BIRDS, "seed": 1}), *commits)  # nobody listens there
    assert away[2] == same[2] == names and "at another commit than" in other


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


def test_sizes_come_from_the_files_and_files_from_the_set(hub, tmp_path):
    root = hub.RequestHandlerClass.root
    for name, card in (("lying", LYING), ("foreign", FOREIGN.format(path=root / "some" / "birds" / "data" / "*"))):
        write_split(root / "some" / name, "train", {"label": [n // 2 for n in range(12)]})
        (root / "some" / name / "README.md").write_text(card)
    orders = [(do, "0.000001", {"source": "some/lying"}) for do in ("inspect", "load")]
    orders += [(do, "1", {"source": "some/foreign"}) for do in ("inspect", "load")]
    looked, loaded, *foreign = ask(tmp_path, hub.server_port, *orders)
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
