"""The section "What did it look at?" through the page's routes: a trained run, its images, and what is refused."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from PIL import Image

from explorer.server.library import Library
from explorer.server.tasks import Task
from explorer.settings import Settings as PageSettings
from explorer.tabs.retrieve.background_routes import background_routes
from explorer.tabs.retrieve.backgrounds import Backgrounds
from explorer.tabs.retrieve.service import RetrievalService
from tests.explorer.page import Client, error
from tests.synthetic import make_run
from tests.tiny import tiny_config, trained, write_images
from trainers.config import DataChoice
from trainers.object_removal.reliance.measure import measure
from trainers.object_removal.reliance.queries import TITLES
from trainers.object_removal.reliance.results import CONTRASTS
from trainers.object_removal.reliance.settings import Settings
from trainers.object_removal.reliance.sources import why_unknown
from trainers.progress import Progress
from trainers.retrieval.encoders import encoders_of_run
from trainers.runs import RunFolder

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`:DeprecationWarning")


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def pots(runs: Path) -> RunFolder:
    """Two losses on the drawn pots."""
    data = DataChoice(source="drawn", image_size=16, max_images=960, held_out="images")
    return trained(runs, tiny_config(runs, data=data, steps=2, probe_size=40))


@pytest.fixture(scope="module")
def plain(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run on images without boxes."""
    return trained(runs, tiny_config(write_images(tmp_path_factory.mktemp("images")), steps=2))


class Site(Client):
    """The routes over a folder of runs."""

    def __init__(self, root: Path, *, public: bool = False, each: int | None = None) -> None:
        self.library = Library(root, root / "recorded")
        self.service = Backgrounds(self.library, each=each, public=public)
        super().__init__(background_routes(self.service), "/retrieval/background")

    def close(self) -> None:
        self.service.jobs.close()
        self.library.close()

    def ended(self, what: str, **asked: Any) -> dict[str, Any]:
        """The job at its end, or what answers at once in its form."""
        return self._end(self.json(what, asked))

    def _end(self, reply: dict[str, Any]) -> dict[str, Any]:
        if "answer" in reply:
            return {"phase": "done", "result": reply["answer"]}
        self.service.jobs.get(reply["job"]).done.wait(120)
        return self.json(f"job/{reply['job']}")

    def answer(self, what: str, **asked: Any) -> dict[str, Any]:
        job = self.ended(what, **asked)
        assert job["phase"] == "done", job
        return dict(job["result"])

    def refused(self, what: str, **asked: Any) -> str:
        reply = self.post(what, asked)
        return str(self._end(reply.json())["error"]) if reply.status_code == 200 else error(reply)


@pytest.fixture
def site(runs: Path) -> Iterator[Site]:
    made = Site(runs)
    yield made
    made.close()


def opened(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image)


def test_a_measurement_and_everything_behind_it(site: Site, pots: RunFolder) -> None:
    answer = site.answer("measure", run=pots.id, queries=20)
    direct = measure(encoders_of_run(pots), Settings(queries=20))
    assert answer["numbers"] == direct.json()["numbers"] or answer["queries"] == len(direct.indices)
    assert list(answer["forms"]) == list(TITLES) and answer["pictured"] and set(answer["contrasts"]) == set(CONTRASTS)
    assert set(answer["pictured"]) == set(TITLES) and "over queries only" in answer["intervals"]
    assert list(answer["objects"]) == ["smallest third", "middle third", "largest third"]
    key, first = answer["key"], answer["arms"][0]["unnoticing"][0]
    reply = site.get(f"{key}/query/{first['query']}").json()
    assert reply["classes"] == first["classes"] and len(reply["arms"]) == 2
    assert set(reply["arms"][0]["forms"]) == set(answer["pictured"])
    for form, one in reply["arms"][0]["forms"].items():
        assert [result["row"] for result in one["results"]] == first["nearest"][form]
        for result in one["results"]:
            assert result["severity"] == sum(a == b for a, b in zip(result["classes"], first["classes"], strict=True))
        assert opened(site.get(f"{key}/form/{form}/{first['query']}").content).shape[:2] == (16, 16)
    place = reply["arms"][0]["forms"]["whole"]["results"][0]["row"]
    assert opened(site.get(f"{key}/image/{place}").content).shape[:2] == (16, 16)
    table = list(csv.DictReader(io.StringIO(site.get(f"{key}/numbers.csv").text)))
    assert len(table) == len(answer["numbers"]) and {row["form"] for row in table} == {*TITLES, *CONTRASTS}
    again = site.json("measure", dict(run=pots.id, queries=20))
    assert again["answer"]["key"] == key  # kept: no job


def test_what_is_not_there_is_said(site: Site, pots: RunFolder) -> None:
    key = site.answer("measure", run=pots.id, queries=20)["key"]
    for path in ("odd/query/0", f"{key}/query/999", f"{key}/form/odd/0", f"{key}/form/whole/999", f"{key}/image/99999"):
        reply = site.get(path)
        assert reply.status_code == 404 and reply.json()["error"], path
    assert site.get(f"{key}/query/x").status_code == 400
    assert site.get("odd/numbers.csv").status_code == site.get("job/odd").status_code == 404


def test_images_without_boxes_are_a_sentence(site: Site, plain: RunFolder) -> None:
    assert "does not say where the objects are" in site.refused("measure", run=plain.id)


def test_that_nothing_is_known_is_said_before_it_is_measured(
    site: Site, runs: Path, pots: RunFolder, plain: RunFolder
) -> None:
    """The same sentence as that of a measurement, where no file can say where objects are."""
    tab = RetrievalService(PageSettings(runs=runs, recorded=runs / "recorded"), site.library)
    told = {run["id"]: run["objects_unknown"] for run in tab.runs()}
    assert told[pots.id] is None and told[plain.id] == site.refused("measure", run=plain.id)
    tab.close()


def test_a_folder_with_files_that_may_say_it_is_not_refused(tmp_path: Path) -> None:
    (tmp_path / "train" / "cat").mkdir(parents=True)
    (tmp_path / "train" / "cat" / "1.jpg").touch()
    assert "Choose the drawn pots" in (why_unknown(DataChoice(source=str(tmp_path))) or "")
    for name in ("train/metadata.jsonl", "train.parquet", "annotations/instances.json"):
        other = tmp_path / name.replace("/", "_")
        (other / name).parent.mkdir(parents=True)
        (other / name).touch()
        assert why_unknown(DataChoice(source=str(other))) is None, name
    assert why_unknown(DataChoice(source="somebody/photos")) is None and why_unknown(DataChoice(source="cifar100"))


def test_a_run_without_weights_or_deleted(site: Site, runs: Path, pots: RunFolder) -> None:
    made_up = make_run(runs, points=30, frames=1)
    assert site.refused("measure", run=made_up.id, data="drawn", queries=10)
    gone = runs / "01ABCDEFGHJKMNPQRSTVWXYZ01"
    shutil.copytree(pots.path, gone)
    assert site.answer("measure", run=gone.name, queries=10)
    for weights in (gone / "ckpt").iterdir():
        weights.write_bytes(b"damaged")
    assert "no checkpoint that can be read" in site.refused("measure", run=gone.name, queries=10)
    shutil.rmtree(gone)


@pytest.mark.parametrize(
    ("what", "asked", "words"),
    [
        ("measure", {}, "run needs a text"),
        ("measure", {"run": "01ABCDEFGHJKMNPQRSTVWXYZ99"}, "no run"),
        ("measure", {"run": "?", "queries": 5}, "queries needs a whole number"),
        ("measure", {"run": "?", "queries": True}, "queries needs a whole number"),
        ("measure", {"run": "?", "fill": "odd"}, "odd"),
    ],
)
def test_bad_bodies_are_refused(site: Site, pots: RunFolder, what: str, asked: dict[str, Any], words: str) -> None:
    given = {name: pots.id if value == "?" else value for name, value in asked.items()}
    assert words in site.refused(what, **given)


def test_in_public_it_is_bounded(runs: Path, pots: RunFolder) -> None:
    site = Site(runs, public=True, each=1)
    assert site.service.start()["queries"] == 200
    assert "queries at most" in site.refused("measure", run=pots.id, queries=201)
    for source in (str(runs), "/etc", "someone/dataset"):
        assert "On a public page" in site.refused("measure", run=pots.id, data=source)
    assert site.answer("measure", run=pots.id, queries=20)["gallery"] <= 2000
    site.close()


def test_it_can_be_stopped(site: Site, pots: RunFolder) -> None:
    begun, go_on = Event(), Event()

    def hold(progress: Progress) -> Any:
        begun.set()
        assert go_on.wait(60)
        progress("held", 0.5)

    held = site.service.jobs.add(Task(work=hold))
    assert begun.wait(60)
    waiting = site.json("measure", dict(run=pots.id, queries=30))["job"]
    assert site.get(f"job/{waiting}").json()["phase"] == "waiting"
    for job in (waiting, held.id):
        assert site.post(f"job/{job}/stop").status_code == 200
    go_on.set()
    assert held.done.wait(60)
    assert [site.get(f"job/{job}").json()["phase"] for job in (waiting, held.id)] == ["stopped"] * 2
