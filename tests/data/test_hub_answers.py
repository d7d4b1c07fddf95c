"""What is said of every answer of the Hub, by the look-alike of it, in one process with short deadlines; downloads."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets.naming import camelcase_to_snakecase

from tests.data.world import encode, images, picture, tarred, write_split, write_tree, zipped
from tests.fake_hub import ask as fake_hub_ask
from tests.fake_hub import fake_hub
from tests.waiting import wait
from trainers.data import SOURCES
from trainers.data.hub_requests import ThrottledError, online
from trainers.data.labelled.datasets.known import KNOWN, Known
from trainers.data.labelled.download import PATIENCE_SECONDS, Download
from trainers.data.labelled.repository import Repository
from trainers.data.reachable import Reachable, away
from trainers.errors import DataError

PROGRAM = """
import json, os, sys, threading, time
import trainers.data.hub_requests
trainers.data.hub_requests.LOOK_SECONDS = 100.0
import trainers.data.labelled.hub as hub
hub.WHOLE_BYTES = 10_000
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.errors import DataError

answers = []
def stop(text, _):
    if text.startswith("Asking the Hub about some/slow") or ("ing some/large: " in text and ": 0 kB" not in text):
        raise DataError("stopped at " + text)

def ask(do, choice):
    begun = time.monotonic()
    said = []
    choice = DataChoice(image_size=16, **choice)
    try:
        if do == "cancel":
            load_data(choice, stop)
            answer = "not stopped"
        elif do == "inspect":
            report = inspect_data(choice)
            columns = report.proposal and report.proposal.label_columns
            answer = {"splits": report.splits, "sampled": report.sampled, "columns": columns,
                      "problems": report.problems, "labels": len(report.labels)}
        else:
            data = load_data(choice, lambda text, _: said.append(text))
            answer = {"sha": data.revision, "classes": sorted(data.hierarchy.names[0]), "title": data.title,
                      "images": len(data.train) + len(data.test), "names": data.train.names[:1], "notes": data.notes,
                      "licence": data.licence, "before": data.train.before_cap, "fingerprint": data.fingerprint}
    except DataError as error:
        answer = str(error)
    return {"answer": answer, "said": said, "seconds": time.monotonic() - begun}

usual = hub.LOOK_SECONDS
for do, choice, limit in json.loads(sys.argv[1]):
    os.environ["RANKSCOPE_DOWNLOAD_GB"] = limit
    if do == "beside":
        asked, answered = threading.Event(), threading.Event()
        def hold(text, _):
            asked.set()
            if answered.is_set():
                raise DataError("answered")
        def wait():
            try:
                load_data(DataChoice(source="some/slow"), hold)
            except DataError as error:
                answers[-1]["beside"] = str(error)
        slow = threading.Thread(target=wait)
        slow.start()
        asked.wait()
        answers.append(ask("inspect", choice))
        answered.set()
        slow.join()
    else:
        hub.LOOK_SECONDS = 1.0 if (do, choice["source"]) == ("inspect", "some/slow") else usual
        answers.append(ask(do, choice))
print(json.dumps(answers))
"""
_TREE = images(*"abcdef", count=4)
_PAIRS = {
    f"{n:03d}.{end}": (picture(n), str(n // 2).encode())[end == "cls"] for n in range(12) for end in ("png", "cls")
}
CONFIGS = "".join(f"- config_name: {name}\n  data_files: data/*.parquet\n" for name in ("small", "large"))
CARDS = {
    "birds": "---\nlicense: mit\npretty_name: Birds\n---\n",
    "subsets": f"---\nconfigs:\n{CONFIGS}---\n",
    "foreign": "---\nconfigs:\n- config_name: default\n  data_files: {birds}/data/*\n---\n",
    "lying": """---
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
""",
}
LABELS = {"label": [n // 2 for n in range(12)]}
REFUSED = {
    "some/none": "is not on the Hub, or private",
    "some/private": "is not on the Hub, or private",
    "some/gated": "is gated: its owner grants access",
    "some/busy": "asked too often from here. Try again in 300 s",
    "some/busy_files": "asked too often from here. Try again in 240 s",
    "some/faulty": "has a fault (its answer was 503)",
    "some/closed": "gives no access to a file",
    "some/slow": "has not answered about 'some/slow' in time",
    "some/token": "does not know the token of this machine",
    "some/script": "needs its own loading script",
    "some/empty": "holds no images or tables",
    "some/subsets": "has several subsets. Choose one of: small, large",
}
SLOW = 100.0
"""Seconds until the Hub answers about a slow dataset: longer than anything here waits for."""
FAULTS: list[dict[str, Any]] = [
    {"match": "/api/datasets/some/busy(/|[?]|$)", "status": 429, "headers": {"Retry-After": "300"}},
    {"match": "some/busy_files/resolve", "status": 429, "headers": {"RateLimit": '"resolvers";r=0;t=240'}},
    {"match": "/api/datasets/some/faulty", "status": 503},
    {"match": "some/closed/resolve", "status": 403},
    {"match": "/api/datasets/some/slow", "delay": SLOW},
    {"match": "HEAD .*some/cut/resolve/.*parquet", "status": 429, "headers": {"Retry-After": "1"}, "times": 1},
    {
        "match": "/api/datasets/some/token",
        "status": 401,
        "headers": {"X-Error-Message": "Invalid credentials in Authorization header"},
    },
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("seed")
    some = root / "datasets" / "some"
    for name in ("birds", "private", "gated", "busy", "busy_files", "faulty", "closed", "slow", "token", *CARDS):
        write_split(some / name, "train", LABELS)
    for name in ("private", "gated"):
        (some / name / f".{name}").write_text("")
    write_split(some / "wide", "train", LABELS | {f"column{n}": LABELS["label"] for n in range(98)})
    write_split(some / "birds", "test", LABELS)
    for name, card in CARDS.items():
        (some / name / "README.md").write_text(card.format(birds=some / "birds"))
    for name in ("large", "cut"):
        rng = np.random.default_rng(len(name))
        noise = [encode(rng.integers(0, 256, (128, 128, 3), np.uint8)) for _ in range(12)]
        write_split(some / name, "train", LABELS, images=noise)
    for file in range(8):  # two classes each, sorted, and a split that is not used
        for split, first in (("train", 2 * file), ("unlabeled", 0)):
            rows = {"label": [f"kind {first + n // 10}" for n in range(20)]}
            write_split(some / "sorted", split, rows, images=[picture(40 * file + n) for n in range(20)])
            data = some / "sorted" / "data"
            (data / f"{split}-00000-of-00001.parquet").rename(data / f"{split}-{file:05d}-of-00008.parquet")
    with fake_hub(root) as server:
        dot = picture(1)
        server.write("datasets", "some/many", {f"{n % 50}/{n}.png": dot for n in range(10_000)})
        server.write("datasets", "some/script", {"script.py": b"raise SystemExit"})
        server.write("datasets", "some/empty", {"README.md": b"Nothing."})
        server.write("datasets", "some/loose", _TREE | {"README.md": b"---\nlicense: mit\npretty_name: Loose\n---\n"})
        server.write("datasets", "some/zip", {"pots.zip": zipped(_TREE)})
        server.write("datasets", "some/web", {"train-000.tar": tarred(dict(sorted(_PAIRS.items())))})
        for name, fault in (("cut", {"cut": 30_000, "times": 1}), ("large", {"rate": 150_000})):
            (oid,) = (hashlib.sha256(data).hexdigest() for data in _files(server, name).values())
            server.fault(**{"match": f"GET /__cdn/{oid}", "times": -1, **fault})
        for fault in FAULTS:
            server.fault(**{"times": -1, **fault})
        yield server


def _files(server: Any, name: str) -> dict[str, bytes]:
    repo = server.repos["datasets", f"some/{name}"]
    files: dict[str, bytes] = repo.commits[repo.sha("main")]
    return files


def ask(home: Path, url: str, *orders: tuple[Any, ...], **also: str) -> list[dict[str, Any]]:
    """What the program answers to orders: what to do, with which choice, and the gigabytes of a download."""
    limited = [(*order, "1")[:3] for order in orders]
    answers: list[dict[str, Any]] = fake_hub_ask(PROGRAM, url, home, limited, **also)
    return answers


def test_every_refusal_is_a_sentence_at_once(hub: Any, tmp_path: Path) -> None:
    write_tree(tmp_path / "own", ["a", "b", "c", "d"])
    orders = [("inspect", {"source": source}) for source in REFUSED]
    *refused, beside = ask(tmp_path, hub.url, *orders, ("beside", {"source": str(tmp_path / "own")}))
    for (source, words), got in zip(REFUSED.items(), refused, strict=True):
        assert words in str(got["answer"]), (source, got)
        assert got["seconds"] < SLOW, (source, got)
    assert [*beside["answer"]["splits"]] == ["all"]
    assert beside["beside"] == "answered", "a folder waits for nobody's Hub"


def test_files_of_every_form_are_looked_at_and_read(hub: Any, tmp_path: Path) -> None:
    looks = ["some/birds", "some/wide", "some/loose", "some/zip", "some/web"]
    orders = [("inspect", {"source": source}) for source in looks]
    loads = [("load", {"source": source}) for source in ("some/loose", "some/zip", "some/birds@main")]
    *looked, loose, packed, birds = ask(tmp_path, hub.url, *orders, *loads)
    splits = [got["answer"] if isinstance(got["answer"], str) else [*got["answer"]["splits"]] for got in looked]
    assert splits == [["train", "test"], ["train"], ["all"], ["all"], ["train"]]
    assert looked[1]["answer"]["labels"] >= 60
    many, chosen = ask(
        tmp_path, hub.url, ("inspect", {"source": "some/many"}), ("load", {"source": "some/subsets", "subset": "large"})
    )
    assert [*many["answer"]["splits"]] == ["all"], "ten thousand loose images are looked at by name"
    assert chosen["answer"]["images"] == 12
    sha = hub.repos["datasets", "some/loose"].sha("main")
    assert [loose["answer"][name] for name in ("sha", "classes", "images")] == [sha, list("abcdef"), 24]
    assert loose["answer"]["names"][0].endswith(".png")
    assert any("Downloading some/loose" in text and "file" in text for text in loose["said"]), loose["said"]
    assert packed["answer"]["classes"] == list("abcdef") and packed["answer"]["images"] == 24
    assert birds["answer"]["sha"] == hub.repos["datasets", "some/birds"].sha("main")
    hub.write("datasets", "some/loose", {f"g/{i}.png": picture(90 + i) for i in range(3)})
    pinned = {"source": "some/loose", "revision": sha}
    again, newest = ask(tmp_path, hub.url, ("load", pinned), ("load", {"source": "some/loose"}))
    assert again["answer"] == loose["answer"], "a run goes on with the commit that it began with"
    assert newest["answer"]["sha"] != sha and "g" in newest["answer"]["classes"]


@pytest.mark.long
def test_downloads_outlive_cuts_and_throttling_and_end_when_they_are_cancelled(hub: Any, tmp_path: Path) -> None:
    slow, large = ({"source": f"some/{name}"} for name in ("slow", "large"))
    stopped, cut, waited = ask(tmp_path, hub.url, ("cancel", large), ("load", {"source": "some/cut"}), ("cancel", slow))
    assert waited["answer"].startswith("stopped at Asking") and waited["seconds"] < SLOW
    assert stopped["answer"].startswith("stopped at Downloading some/large")
    assert cut["answer"]["images"] == 12
    assert any("asked too often from here, going on in 1 s" in text for text in cut["said"]), cut["said"]
    assert any("1 of 1 file" in text for text in cut["said"])
    blobs = tmp_path / "hf" / "hub" / "datasets--some--large" / "blobs"
    assert blobs.is_dir() and not list(blobs.iterdir()), "what was cancelled reads no further: neither whole nor begun"


def test_a_cap_fetches_files_until_there_are_enough_classes_the_same_everywhere(hub: Any, tmp_path: Path) -> None:
    capped = {"source": "some/sorted", "max_images": 16}
    (got,) = ask(tmp_path / "one", hub.url, ("load", capped))
    found = got["answer"]
    assert found["sha"] == hub.repos["datasets", "some/sorted"].sha("main") and found["images"] <= 32
    notes = [note for note in found["notes"] if "files of" in note]
    assert notes == ["4 of 8 files of 'train' are read: 80 of about 160 rows."], "two files hold too few classes"
    assert len(found["classes"]) == 4 and found["before"] == 80, "half of the classes, of all rows"
    assert any("4 of 4 files" in text for text in got["said"]) and not any("16 files" in text for text in got["said"])
    (other,) = ask(tmp_path / "two", hub.url, ("load", capped))
    assert other["answer"]["fingerprint"] == found["fingerprint"]
    away = {**capped, "max_images": 12}
    again, refused = ask(tmp_path / "one", hub.url, ("load", capped), ("load", away), HF_HUB_OFFLINE="1")
    assert again["answer"] == got["answer"], "without a network, what was decoded is found"
    assert "other images are on this machine" in refused["answer"]


def test_a_hub_set_from_first_look_to_a_start_without_network(hub: Any, tmp_path: Path) -> None:
    birds = {"source": "some/birds"}
    orders = [("inspect", birds), ("load", birds, "0.000001"), ("load", birds), ("inspect", birds)]
    looked, too_large, loaded, again = (got["answer"] for got in ask(tmp_path, hub.url, *orders))
    seen = {"columns": ["label"], "problems": [], "labels": 1}
    assert looked == {"splits": {"train": None, "test": None}, "sampled": True, **seen}
    assert "is a download of 0.0 GB; the limit here is 1e-06 GB" in too_large
    assert (loaded["title"], loaded["licence"], loaded["classes"]) == ("Birds", "mit", [*"012345"])
    assert "share 6 classes" in loaded["notes"][0]
    assert again == {"splits": {"train": 12, "test": 12}, "sampled": False, **seen}
    sha = hub.repos["datasets", "some/birds"].sha("main")
    commits = [("load", {**birds, "seed": 1, "revision": commit}) for commit in (sha, sha[::-1])]
    nobody = "http://127.0.0.1:9"
    away, same, other = (got["answer"] for got in ask(tmp_path, nobody, ("load", {**birds, "seed": 1}), *commits))
    assert away["classes"] == same["classes"] == loaded["classes"] and "at another commit than" in other


def test_sizes_come_from_the_files_and_files_from_the_set(hub: Any, tmp_path: Path) -> None:
    orders = [(do, {"source": "some/lying"}, "0.000001") for do in ("inspect", "load")]
    orders += [(do, {"source": "some/foreign"}, "1") for do in ("inspect", "load")]
    looked, loaded, *foreign = (got["answer"] for got in ask(tmp_path, hub.url, *orders))
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
    hub, answers = Reachable(), threading.Event()
    monkeypatch.setattr("trainers.data.hub_requests.online", lambda: answers.wait() and online())
    assert hub() is None  # nobody waits for the answer
    answers.set()
    wait(lambda: hub() is False)
    monkeypatch.setattr("trainers.data.reachable.reachable", hub)
    assert "the Hugging Face Hub cannot be reached. Connect" in str(away())
    monkeypatch.setattr("trainers.data.reachable.reachable", lambda: None)
    assert away() is None


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_what_is_here_is_offered_without_a_network(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "arrow"))
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path))
    offered = SOURCES[known.name]
    assert (
        offered.lacking()
        == "Not on this machine, and HF_HUB_OFFLINE forbids downloads. Unset it, and start the " + ("program again.")
    )
    owner, name = known.hub.split("/")
    prepared = tmp_path / "arrow" / f"{owner}___{camelcase_to_snakecase(name)}" / "default" / "0.0.0" / "a"
    prepared.mkdir(parents=True)
    assert offered.lacking()  # it was begun
    (prepared / "dataset_info.json").touch()
    assert offered.lacking() is None


# ------------------------------------------------------------- a download of several files


FILES = {f"data/{n}.parquet": 1_000_000 * (n + 1) for n in range(3)}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A cache that holds the first file already."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots" / "sha" / "data").mkdir(parents=True)
    (tmp_path / "snapshots" / "sha" / "data" / "0.parquet").touch()
    (tmp_path / "blobs" / "of-another-commit").write_bytes(bytes(5000))
    return tmp_path


def run(copy: Path, fetch: object, monkeypatch: pytest.MonkeyPatch, still: float = 5.0) -> list[tuple[str, float]]:
    told: list[tuple[str, float]] = []
    monkeypatch.setattr("trainers.data.labelled.download.fetched", fetch)
    repository = Repository(name="some/set", sha="sha", files=FILES)
    Download(repository, FILES, copy, lambda text, share: told.append((text, share)), still).run()
    return told


def test_bytes_and_files_count_what_was_there_and_nothing_of_other_commits(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    told = run(copy, lambda _, path: asked.append(path), monkeypatch)
    assert sorted(asked) == ["data/1.parquet", "data/2.parquet"]
    assert told[-1] == ("Downloading some/set: 6.0 MB of 6.0 MB, 3 of 3 files", 0.99)


def test_a_part_that_grows_moves_the_bar_and_one_that_does_not_ends_it(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()

    def fetch(_: Repository, path: str) -> None:
        (copy / "blobs" / f"{Path(path).stem}.incomplete").write_bytes(bytes(250_000))
        never.wait(60)

    with pytest.raises(DataError, match=r"'some/set' has stood still for 0\.5 s at 1\.5 MB of 6\.0 MB"):
        run(copy, fetch, monkeypatch, still=0.5)
    never.set()


def test_a_throttling_that_lasts_longer_than_a_window_is_said(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(_: Repository, __: str) -> None:
        error = ThrottledError("asked too often")
        error.seconds = PATIENCE_SECONDS + 1
        raise error

    with pytest.raises(ThrottledError):
        run(copy, fetch, monkeypatch)
