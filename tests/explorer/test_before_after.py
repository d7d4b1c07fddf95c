"""One image before and after something is removed, through the page's routes and those of earlier pages."""

from __future__ import annotations

import base64
import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from explorer.server.routes import PREFIX
from tests.data.world import encode
from tests.explorer.searching import Search
from tests.finetuning.world import mend_config, write_coco
from tests.tiny import tiny_config, trained, write_images
from trainers.runs import RunFolder

DOT = {"strokes": [{"radius": 0.2, "points": [[0.5, 0.5]]}]}
BOX = {"boxes": [[0.3, 0.3, 0.8, 0.9]]}
FORMS = ["whole", "without", "alone"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Runs: coloured discs, a fine-tuning on photographs with boxes; a recording without weights."""
    home = tmp_path_factory.mktemp("before")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", str(home / "cache"))
        run = trained(home / "runs", tiny_config(write_images(home / "images"), steps=2, snapshot_steps=2))
        run.db.close()  # a recording is read as it is, without what its database has not written yet
        trained(home / "runs", mend_config(write_coco(home / "coco"), {"removed": False}))
        shutil.copytree(run.path, home / "recorded" / "01ABCDEFGHJKMNPQRSTVWXYZ01")
        shutil.rmtree(home / "recorded" / "01ABCDEFGHJKMNPQRSTVWXYZ01" / "ckpt")
        yield home


@pytest.fixture
def site(root: Path) -> Iterator[Search]:
    made = Search(root / "runs")
    yield made
    made.close()


def ids(site: Search) -> dict[str, str]:
    """Of each run, by what it is."""
    listed = site.json("runs")["runs"]
    kinds = {
        entry["id"]: RunFolder(site.settings.runs / entry["id"]).config.kind
        for entry in listed
        if not entry["recorded"]
    }
    return {kind: run for run, kind in kinds.items()} | {"recorded": next(o["id"] for o in listed if o["recorded"])}


def asked(site: Search, run: str, **query: object) -> dict:
    return site.done("search", {"runs": [run], "query": {"row": 0, "fill": "mean", **query}, "k": 6})


def refused(site: Search, run: str, **query: object) -> str:
    """The sentence, at once or of the job."""
    reply = site.post("search", {"runs": [run], "query": {"row": 0, **query}})
    if "job" not in reply.json():
        return str(reply.json().get("error"))
    job = site.service.searches.jobs.get(reply.json()["job"])
    assert job.done.wait(200)
    return str(site.json(f"job/{job.id}")["error"])


def test_runs_of_every_kind_answer(site: Search) -> None:
    known = ids(site)
    assert set(known) == {"metric_learning", "finetuning", "recorded"}
    for kind, run in known.items():
        answer = asked(site, run, remove=BOX)
        assert [form["name"] for form in answer["forms"]] == FORMS and 0 < answer["covered"] < 1
        picture = base64.b64decode(answer["forms"][1]["image"].partition(",")[2])
        assert Image.open(io.BytesIO(picture)).size[0] >= 24
        for arm in answer["arms"]:
            assert arm["error"] is None and len(arm["ranking"]["results"]) == 6
            after = arm["after"]
            if kind == "recorded":
                assert not after["rankings"] and "neither recordings" in after["error"]
            else:
                assert 0 <= after["stays"] <= 1 and len(after["rankings"]["without"]["results"]) == 6


def test_classes_go_one_or_several(site: Search) -> None:
    run = ids(site)["finetuning"]
    names = [one["class"] for one in site.done("objects", {"run": run, "row": 0})["objects"]]
    assert len(names) == 2
    for some in (names[:1], names):
        assert list(asked(site, run, remove={"classes": some})["removed"]) == some
    assert "has no 'unicorn'" in refused(site, run, remove={"classes": ["unicorn"]})


def test_pages_of_earlier_versions_are_answered(site: Search) -> None:
    run = ids(site)["metric_learning"]
    listed = site.client.get(f"{PREFIX}/objects/runs").json()["runs"]
    assert [entry["id"] for entry in listed if not entry["usable"]] == [ids(site)["recorded"]]
    image = site.client.get(f"{PREFIX}/objects/runimage/{run}/3?side=64")
    assert image.status_code == 200 and Image.open(io.BytesIO(image.content)).size[0] > 8
    given = {"run": run, "index": 2, "remove": BOX, "fill": "mean", "k": 4}
    reply = site.client.post(f"{PREFIX}/objects/neighbours", json=given).json()
    answer = reply["answer"] if "answer" in reply else site.service.searches.jobs.get(reply["job"]).wait()
    assert answer["query"] == 2 and len(answer["arms"][0]["after"]["rankings"]["alone"]["results"]) == 4
    pixels = np.full((40, 60, 3), 90, np.uint8)
    pixels[10:30, 20:40] = (200, 30, 30)
    upload = site.service.uploads.add(encode(pixels)).ref
    own = site.done("background/own", {"run": run, "upload": upload, "drawing": DOT, "fill": "telea"})
    assert own["query"] is None and [form["name"] for form in own["forms"]] == FORMS
    for path in ("objects/neighbours", "retrieval/background/own"):
        assert site.client.post(f"{PREFIX}/{path}", json={"run": 3}).status_code == 400


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"remove": {}}, "classes, boxes or strokes"),
        ({"remove": {"boxes": [[0, 0, 1, 1]]}}, "whole image"),
        ({"remove": {"boxes": [[None, None, None, None]]}}, "no area"),
        ({"remove": 3}, "remove needs"),
        ({"remove": BOX, "fill": "rerender"}, "Only the drawn scenes"),
        ({"remove": BOX, "fill": "magic"}, "magic"),
        ({"remove": {"classes": ["dog"]}}, "No object of this image is known"),
    ],
)
def test_odd_questions_get_a_sentence(site: Search, query: dict, words: str) -> None:
    assert words in refused(site, ids(site)["metric_learning"], **query)
