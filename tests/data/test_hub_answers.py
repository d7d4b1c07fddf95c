"""What is said of every answer of the Hub, by the look-alike of it, in one process with short deadlines."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data.test_packed import images, zipped
from tests.data.world import encode, picture, write_split, write_tree
from tests.fake_hub import ask as fake_hub_ask
from tests.fake_hub import fake_hub

PROGRAM = """
import json, sys, threading, time
import trainers.data.hf_logging as hub
hub.LOOK_SECONDS = 2.0
import trainers.data.labelled.hub
trainers.data.labelled.hub.WHOLE_BYTES = 10_000
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
            answer = [list(report.splits), report.proposal and report.proposal.label_columns, len(report.labels)]
        else:
            data = load_data(choice, lambda text, _: said.append(text))
            images = len(data.train) + len(data.test)
            answer = [data.revision, sorted(data.hierarchy.names[0]), images, data.train.names[:1]]
            if "max_images" in sys.argv[1]:
                answer += [[note for note in data.notes if "files of" in note], data.train.before_cap, data.fingerprint]
    except DataError as error:
        answer = str(error)
    return {"answer": answer, "said": said, "seconds": time.monotonic() - begun}

for do, choice in json.loads(sys.argv[1]):
    if do == "beside":
        slow = threading.Thread(target=ask, args=("inspect", {"source": "some/slow"}))
        slow.start()
        time.sleep(0.3)
        answers.append(ask("inspect", choice))
        slow.join()
    else:
        answers.append(ask(do, choice))
print(json.dumps(answers))
"""
_TREE = images(*"abcdef", count=4)
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
FAULTS: list[dict[str, Any]] = [
    {"match": "/api/datasets/some/busy(/|[?]|$)", "status": 429, "headers": {"Retry-After": "300"}},
    {"match": "some/busy_files/resolve", "status": 429, "headers": {"RateLimit": '"resolvers";r=0;t=240'}},
    {"match": "/api/datasets/some/faulty", "status": 503},
    {"match": "some/closed/resolve", "status": 403},
    {"match": "/api/datasets/some/slow", "delay": 3},
    {"match": "HEAD .*some/cut/resolve/.*parquet", "status": 429, "headers": {"Retry-After": "1"}, "times": 1},
    {
        "match": "/api/datasets/some/token",
        "status": 401,
        "headers": {"X-Error-Message": "Invalid credentials in Authorization header"},
    },
]


def _tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for at in range(12):
            for name, content in ((f"{at:03d}.png", picture(at)), (f"{at:03d}.cls", str(at // 2).encode())):
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("seed")
    for name in ("birds", "private", "gated", "busy", "busy_files", "faulty", "closed", "slow", "token"):
        write_split(root / "datasets" / "some" / name, "train", LABELS)
    for name in ("private", "gated"):
        (root / "datasets" / "some" / name / f".{name}").write_text("")
    write_split(
        root / "datasets" / "some" / "wide", "train", LABELS | {f"column{n}": LABELS["label"] for n in range(98)}
    )
    for name in ("large", "cut"):
        rng = np.random.default_rng(len(name))
        images = [encode(rng.integers(0, 256, (128, 128, 3), np.uint8)) for _ in range(12)]
        write_split(root / "datasets" / "some" / name, "train", LABELS, images=images)
    for file in range(8):  # two classes each, sorted, and a split that is not used
        for split, first in (("train", 2 * file), ("unlabeled", 0)):
            rows = {"label": [f"kind {first + n // 10}" for n in range(20)]}
            images = [picture(40 * file + n) for n in range(20)]
            write_split(root / "datasets" / "some" / "sorted", split, rows, images=images)
            data = root / "datasets" / "some" / "sorted" / "data"
            (data / f"{split}-00000-of-00001.parquet").rename(data / f"{split}-{file:05d}-of-00008.parquet")
    write_split(root / "datasets" / "some" / "subsets", "train", LABELS)
    configs = "".join(f"- config_name: {name}\n  data_files: data/*.parquet\n" for name in ("small", "large"))
    (root / "datasets" / "some" / "subsets" / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    with fake_hub(root) as server:
        dot = picture(1)
        server.write("datasets", "some/many", {f"{n % 50}/{n}.png": dot for n in range(10_000)})
        server.write("datasets", "some/script", {"script.py": b"raise SystemExit"})
        server.write("datasets", "some/empty", {"README.md": b"Nothing."})
        server.write("datasets", "some/loose", _TREE | {"README.md": b"---\nlicense: mit\npretty_name: Loose\n---\n"})
        server.write("datasets", "some/zip", {"pots.zip": zipped(_TREE)})
        server.write("datasets", "some/web", {"train-000.tar": _tar()})
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


def ask(home: Path, hub: Any, *orders: tuple[str, dict[str, Any]], **also: str) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = fake_hub_ask(PROGRAM, hub.url, home, orders, **also)
    return answers


def test_every_refusal_is_a_sentence_at_once(hub: Any, tmp_path: Path) -> None:
    write_tree(tmp_path / "own", ["a", "b", "c", "d"])
    orders = [("inspect", {"source": source}) for source in REFUSED]
    *refused, beside = ask(tmp_path, hub, *orders, ("beside", {"source": str(tmp_path / "own")}))
    for (source, words), got in zip(REFUSED.items(), refused, strict=True):
        assert words in str(got["answer"]), (source, got)
        assert got["seconds"] < 8, (source, got)
    assert beside["answer"][0] == ["all"] and beside["seconds"] < 1.5, "a folder waits for nobody's Hub"


def test_files_of_every_form_are_looked_at_and_read(hub: Any, tmp_path: Path) -> None:
    looks = ["some/birds", "some/wide", "some/loose", "some/zip", "some/web"]
    orders = [("inspect", {"source": source}) for source in looks]
    loads = [("load", {"source": source}) for source in ("some/loose", "some/zip", "some/birds@main")]
    *looked, loose, packed, birds = ask(tmp_path, hub, *orders, *loads)
    assert [got["answer"] if isinstance(got["answer"], str) else got["answer"][0] for got in looked] == [
        ["train"],
        ["train"],
        ["all"],
        ["all"],
        ["train"],
    ]
    assert looked[1]["answer"][2] >= 60
    many, chosen = ask(
        tmp_path, hub, ("inspect", {"source": "some/many"}), ("load", {"source": "some/subsets", "subset": "large"})
    )
    assert many["answer"][0] == ["all"], "ten thousand loose images are looked at by name"
    assert chosen["answer"][2] == 12
    sha = hub.repos["datasets", "some/loose"].sha("main")
    assert loose["answer"][:3] == [sha, list("abcdef"), 24] and loose["answer"][3][0].endswith(".png")
    assert any("Downloading some/loose" in text and "file" in text for text in loose["said"]), loose["said"]
    assert packed["answer"][1:3] == [list("abcdef"), 24]
    assert birds["answer"][0] == hub.repos["datasets", "some/birds"].sha("main")
    hub.write("datasets", "some/loose", {f"g/{i}.png": picture(90 + i) for i in range(3)})
    pinned = {"source": "some/loose", "revision": sha}
    again, newest = ask(tmp_path, hub, ("load", pinned), ("load", {"source": "some/loose"}))
    assert again["answer"] == loose["answer"], "a run goes on with the commit that it began with"
    assert newest["answer"][0] != sha and "g" in newest["answer"][1]


@pytest.mark.long
def test_downloads_outlive_cuts_and_throttling_and_end_when_they_are_cancelled(hub: Any, tmp_path: Path) -> None:
    slow, large = ({"source": f"some/{name}"} for name in ("slow", "large"))
    stopped, cut, waited = ask(tmp_path, hub, ("cancel", large), ("load", {"source": "some/cut"}), ("cancel", slow))
    assert waited["answer"].startswith("stopped at Asking") and waited["seconds"] < 2
    assert stopped["answer"].startswith("stopped at Downloading some/large")
    assert cut["answer"][2] == 12
    assert any("asked too often from here, going on in 1 s" in text for text in cut["said"]), cut["said"]
    assert any("1 of 1 file" in text for text in cut["said"])
    blobs = tmp_path / "hf" / "hub" / "datasets--some--large" / "blobs"
    assert blobs.is_dir() and not list(blobs.iterdir()), "what was cancelled reads no further: neither whole nor begun"


def test_a_cap_fetches_files_until_there_are_enough_classes_the_same_everywhere(hub: Any, tmp_path: Path) -> None:
    capped = {"source": "some/sorted", "max_images": 16}
    (got,) = ask(tmp_path / "one", hub, ("load", capped))
    sha, kinds, images, _, notes, before, fingerprint = got["answer"]
    assert sha == hub.repos["datasets", "some/sorted"].sha("main") and images <= 32
    assert notes == ["4 of 8 files of 'train' are read: 80 of about 160 rows."], "two files hold too few classes"
    assert len(kinds) == 4 and before == 80, "half of the classes, of all rows"
    assert any("4 of 4 files" in text for text in got["said"]) and not any("16 files" in text for text in got["said"])
    (other,) = ask(tmp_path / "two", hub, ("load", capped))
    assert other["answer"][-1] == fingerprint
    away = {**capped, "max_images": 12}
    again, refused = ask(tmp_path / "one", hub, ("load", capped), ("load", away), HF_HUB_OFFLINE="1")
    assert again["answer"] == got["answer"], "without a network, what was decoded is found"
    assert "other images are on this machine" in refused["answer"]
