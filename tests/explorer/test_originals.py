"""The file behind a thumbnail: found by run and number, shown in bounds, and only where the page may open it."""

from __future__ import annotations

import base64
import dataclasses
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from explorer.server.originals import LONGEST
from explorer.server.visitors import owner_of
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served
from tests.synthetic import make_run, write_probe
from tests.tiny import write_images
from tests.waiting import wait
from trainers.brought.log import log_run
from trainers.config import DataChoice
from trainers.data.access import REFUSAL
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder

pytestmark = GRADIO_WARNINGS
TOKEN, KEPT = "mine", "It is shown as it is kept here."
TILE = (32, 32)
HOSTILE = (
    "../outside.png",
    "/etc/passwd",
    "train/../../outside.png",
    "..\\outside.png",
    "outside.png",
    "a\0b",
    "x" * 4000,
)


def run_on(root: Path, source: object, files: tuple[str, ...]) -> str:
    """A run of the images of a source, with these files on its maps."""
    losses = (Choice(name="smooth_ap"),)
    config = MetricLearningConfig(data=DataChoice(source=str(source)), losses=losses, probe_size=len(files))
    folder = RunFolder.create(root / "runs", config, owner=owner_of(TOKEN))
    write_probe(folder, len(files))
    probe, sheet = folder.probe(), folder.sheet(0)
    assert probe is not None
    folder.write_probe(dataclasses.replace(probe, files=files), [sheet])
    return folder.id


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_images(tmp_path_factory.mktemp("own") / "pears")
    Image.fromarray(np.zeros((1000, 3000, 3), np.uint8)).save(folder / "test" / "colour08" / "0.png")
    (folder / "test" / "colour08" / "1.png").write_bytes(b"no image")
    shutil.copy(folder / "test" / "colour08" / "0.png", folder.parent / "outside.png")
    return folder


def asked(page: Served, run: str, row: int, token: str = "", **more: object) -> dict[str, Any]:
    headers = {"x-rankscope-token": token}
    reply = page.post(f"{PREFIX}/retrieval/original", {"run": run, "row": row, **more}, **headers)
    return reply.json() | {"status": reply.status_code}


def size(reply: dict[str, Any]) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(reply["image"].partition(",")[2]))).size


def root_of(page: Served) -> Path:
    return page.explorer.library.root.parent


@pytest.mark.parametrize("packed", [False, True])
def test_the_file_is_shown_in_bounds(local: Served, images: Path, tmp_path: Path, packed: bool) -> None:
    source = Path(shutil.make_archive(str(tmp_path / "pears"), "zip", images)) if packed else images
    names = ("test/colour08/0.png", "test/colour09/0.png", "test/colour08/1.png")
    run = run_on(root_of(local), source, names)
    large, small, broken = (asked(local, run, row) for row in range(3))
    assert size(large) == (LONGEST, round(LONGEST / 3))
    assert large["words"] == f"{names[0]}: 3,000 x 1,000 pixels, shown at 1600 x 533"
    assert size(small) == (24, 24) and small["words"] == f"{names[1]}: 24 x 24 pixels"
    assert size(broken) == TILE and broken["words"].endswith(KEPT)
    assert asked(local, run, 3)["status"] == 404 and asked(local, "none", 0)["status"] == 404
    if packed:
        source.unlink()
        gone = asked(local, run, 0)
        assert size(gone) == TILE and "does not exist" in gone["words"] and gone["words"].endswith(KEPT)


def test_names_in_a_run_folder_lead_nowhere(local: Served, images: Path) -> None:
    run = run_on(root_of(local), images, HOSTILE)
    for row, name in enumerate(HOSTILE):
        reply = asked(local, run, row)
        assert size(reply) == TILE and "it is not there any more" in reply["words"], name
    form = {"kind": "metric_learning", "settings": {"data.source": str(images)}}
    for name in HOSTILE[:-1]:
        reply = local.post(f"{PREFIX}/form/original", {**form, "name": name})
        assert reply.status_code == 400 and "not there any more" in reply.json()["error"], name


def test_images_without_files_say_so(local: Served) -> None:
    drawn = make_run(root_of(local) / "runs", points=30, frames=1)
    reply = asked(local, drawn.id, 0)
    assert size(reply) == TILE and reply["words"] == f"This image has no file of its own. {KEPT}"
    brought = log_run("mine", runs=root_of(local) / "runs", images=[np.zeros((16, 16))] * 24)
    brought.frame(0, np.eye(24, dtype=np.float32))
    brought.finish()
    assert asked(local, brought.id, 0)["words"] == reply["words"]
    pretended = run_on(root_of(local), "drawn", ("a.png",))
    assert asked(local, pretended, 0)["words"] == f"Drawn world has no files. {KEPT}"


def test_the_images_of_a_gallery_and_of_a_preview_open(local: Served, images: Path) -> None:
    run = run_on(root_of(local), images, ("test/colour08/0.png",))
    gallery = {"name": "test"}
    assert asked(local, run, 0, gallery=gallery)["status"] == 404  # it is not open
    local.post(f"{PREFIX}/retrieval/open", {"run": run, "gallery": gallery})
    wait(lambda: asked(local, run, 0, gallery=gallery)["status"] == 200)
    assert asked(local, run, 10**8, gallery=gallery)["status"] == 404
    reply = asked(local, run, 0, gallery=gallery)
    assert reply["status"] == 200, reply
    assert size(reply) == (LONGEST, 533)
    form = {"kind": "metric_learning", "settings": {"data.source": str(images)}}
    (_, name), *_ = local.post(f"{PREFIX}/form/look", form).json()["samples"][0]["images"]
    shown = local.post(f"{PREFIX}/form/original", {**form, "name": name}).json()
    assert shown["words"] == f"{name}: 24 x 24 pixels"


def test_strangers_open_what_they_dropped_and_no_folder(
    public: Served, tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    dropped = f"dropped/{'a1' * 16}/pears"
    shutil.copytree(images, tmp_path / "cache" / dropped)
    names = ("test/colour09/0.png",)
    own, other = run_on(root_of(public), dropped, names), run_on(root_of(public), images, names)
    assert size(asked(public, own, 0, TOKEN)) == (24, 24)
    reply = asked(public, own, 0, "somebody's")
    assert size(reply) == TILE and reply["words"].startswith("Only the visitor who dropped these images here")
    assert asked(public, other, 0, TOKEN)["words"] == f"{REFUSAL} {KEPT}"
    form = {"kind": "metric_learning", "settings": {"data.source": str(images)}, "name": names[0]}
    assert public.post(f"{PREFIX}/form/original", form).json() == {"error": REFUSAL}
