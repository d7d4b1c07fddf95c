"""The one gate to the files of this machine, and whose name the Hub is asked in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from tests.data.world import write_tree
from trainers.config import DataChoice
from trainers.data import access, hf_transformers, inspect_data, load_data
from trainers.data.captioned.loader import load_captioned
from trainers.data.sources import resolve
from trainers.errors import DataError, UserError
from trainers.kinds import check
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.worker import Worker

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.PUBLIC, "on")


def said(source: str) -> str:
    with pytest.raises(DataError) as caught:
        resolve(source)
    return str(caught.value)


@pytest.mark.parametrize("setting", [None, "on", "off", "1"])
def test_strangers_hear_the_same_of_what_exists_and_what_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: None, setting: str | None
) -> None:
    if setting is not None:
        monkeypatch.setenv(access.FOLDERS, setting)
    write_tree(tmp_path / "photos", ["a", "b", "c", "d"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    forms = (f"{tmp_path}/{{}}", "./{}", "~/{}", "{}\\", f"{tmp_path}/x/../{{}}", "C:\\{}")
    there = [*(form.format("photos") for form in forms), "~root"]
    absent = [*(form.format("none") for form in forms), "~nobody-at-all/x"]
    assert {said(path) for path in there + absent} == {access.REFUSAL}
    for source in (there[0], absent[0]):
        for read in (inspect_data, load_data, lambda choice: load_captioned(choice.source)):
            with pytest.raises(DataError, match="RANKSCOPE_FOLDERS"):
                read(DataChoice(source=source))
    assert said(f"file://{there[0]}").replace("photos", "none") == said(f"file://{absent[0]}")


def test_a_bare_name_is_a_hub_id_to_strangers_whatever_lies_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: None
) -> None:
    write_tree(tmp_path / "owner" / "name", ["a", "b", "c", "d"])
    monkeypatch.chdir(tmp_path)
    assert (resolve("owner/name"), resolve("owner/none")) == ("owner/name", "owner/none")
    sentences = []
    for name in ("owner/name", "owner/none"):
        with pytest.raises(DataError) as caught:
            load_data(DataChoice(source=name))
        sentences.append(
            [text.replace(name, "it") for text in (str(caught.value), hf_transformers.missing(name) or "")]
        )
    assert sentences[0] == sentences[1]


def test_named_roots_open_and_nothing_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: None
) -> None:
    for name in ("one", "two", "secret"):
        write_tree(tmp_path / name, ["a", "b", "c", "d"])
    monkeypatch.setenv(access.FOLDERS, os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")]))
    assert load_data(DataChoice(source=str(tmp_path / "one"))).train
    assert isinstance(resolve(str(tmp_path / "two" / ".." / "one")), Path)
    (tmp_path / "two" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "two" / "nowhere").symlink_to(tmp_path / "absent")
    (tmp_path / "two" / "loop").symlink_to(tmp_path / "two" / "loop")
    beside = ("secret", "absent", "one/../secret", "one/../absent", "two/link", "two/nowhere", "two/loop", "onemore")
    for place in beside:
        assert said(str(tmp_path / place)) == access.REFUSAL, place
    assert said(f"{tmp_path}/one\0") == access.REFUSAL


@pytest.mark.parametrize("link", ["a/out.png", "e"])
def test_a_folder_with_links_out_of_its_root_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    write_tree(tmp_path / "own", ["a", "b", "c", "d"])
    write_tree(tmp_path / "secret", ["x"])
    (tmp_path / "own" / "b" / "inside.png").symlink_to(next((tmp_path / "own" / "a").iterdir()))
    target = tmp_path / "secret" / "x"
    monkeypatch.setenv(access.FOLDERS, str(tmp_path / "own"))
    assert isinstance(resolve(str(tmp_path / "own")), Path)
    (tmp_path / "own" / link).symlink_to(next(target.iterdir()) if link.endswith(".png") else target)
    assert said(str(tmp_path / "own")) == access.LINKED


def test_weights_are_behind_the_same_gate(tmp_path: Path, public: None) -> None:
    from trainers.image_text.models import MODELS
    from trainers.object_removal.detectors import DETECTORS

    (tmp_path / "there.pt").write_bytes(b"")
    (tmp_path / "odd").write_bytes(b"")
    for place in ("there.pt", "odd", "absent.pt", "absent"):
        path = str(tmp_path / place)
        asked = [
            (MODELS["open_clip"], {"model": f"local-dir:{path}"}),
            (MODELS["open_clip"], {"model": "ViT-B-32", "pretrained": path}),
            (MODELS["tiny_clip"], {"weights": path}),
            (DETECTORS["ssdlite"], {"weights": path}),
        ]
        for entry, values in asked:
            with pytest.raises(UserError) as caught:
                entry.build(values)
            assert str(caught.value) == access.REFUSAL
    for place in (tmp_path, tmp_path / "absent"):
        assert hf_transformers.missing(str(place)) == access.REFUSAL


def test_a_trainer_refuses_what_its_page_would(tmp_path: Path, public: None) -> None:
    write_tree(tmp_path / "photos", ["a", "b", "c", "d"])
    config = MetricLearningConfig(
        data=DataChoice(source=str(tmp_path / "photos")), losses=(Choice(name="supcon"),), steps=1, minutes=None
    )
    state = Worker(RunFolder.create(tmp_path / "runs", config)).run()
    assert (state.phase, state.error) == ("failed", access.REFUSAL)


def test_no_captioner_is_taken_from_a_stranger(public: None) -> None:
    values = {"text": "captioner", "captioner": "owner/captioner"}
    with pytest.raises(UserError, match="captioner cannot be named"):
        check(FinetuningConfig(recipes=(values,), steps=1))


class Hub(BaseHTTPRequestHandler):
    """Answers that there is nothing, and keeps who asked."""

    seen: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization")))
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


ASKS = """
import json, sys
from trainers.data import access
if "late" in sys.argv:
    import huggingface_hub.constants
if "public" in sys.argv:
    access.serve_strangers()
from trainers.image_text.models import MODELS
from trainers.data import inspect_data, load_data
from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.config import DataChoice
from trainers.data.labelled.hub import open_hub
asks = [
    lambda: inspect_data(DataChoice(source="owner/private")),
    lambda: load_data(DataChoice(source="owner/private")),
    lambda: open_hub("owner/private", None, None),
    lambda: MODELS["open_clip"].build({"model": "hf-hub:owner/private"}),
    lambda: ENCODERS["timm"].build(channels=3, side=32, dim=8, parameters={"model": "resnet18.a1_in1k"}),
]
for ask in asks:
    try:
        ask()
    except UserError as error:
        print(error)
"""


@pytest.mark.parametrize("words", [[], pytest.param(["public", "late"], marks=pytest.mark.long), ["public"]])
def test_only_ones_own_machine_shows_its_token(tmp_path: Path, hub: str, words: list[str]) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    env |= {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path), "HF_TOKEN": "hf_secret", "PYTHONPATH": str(ROOT)}
    env |= {"RANKSCOPE_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", ASKS, *words], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    paths = " ".join(path for path, _ in Hub.seen)
    assert "datasets/owner/private" in paths and "owner/private/resolve" in paths and "resnet18" in paths, paths
    shown = {token for _, token in Hub.seen}
    assert shown == {None} if words else "Bearer hf_secret" in shown, json.dumps(Hub.seen, indent=1)


@pytest.mark.parametrize("which", ["files", "splits"])
def test_a_saved_set_reads_its_own_files_only(which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    rows = {"image": [{"bytes": b"x", "path": None}] * 4, "caption": ["a dog"] * 4}
    features = datasets.Features({"image": datasets.Image(), "caption": datasets.Value("string")})
    made = datasets.DatasetDict({"train": datasets.Dataset.from_dict(rows, features=features)})
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    made.save_to_disk(elsewhere)
    made.save_to_disk(root / "set")
    monkeypatch.setenv(access.FOLDERS, str(root))
    assert load_captioned(str(root / "set")).splits["train"][0].load() == b"x"
    if which == "splits":
        (root / "set" / "dataset_dict.json").write_text(json.dumps({"splits": ["../../elsewhere/train"]}))
    else:
        state = json.loads((root / "set" / "train" / "state.json").read_text())
        names = [f"../../../elsewhere/train/{data_file['filename']}" for data_file in state["_data_files"]]
        state["_data_files"] = [{"filename": name} for name in names]
        (root / "set" / "train" / "state.json").write_text(json.dumps(state))
    with pytest.raises(DataError, match="not its own"):
        load_captioned(str(root / "set"))
