"""The routes of the tab "Retrieve", over real runs with and without weights."""

from __future__ import annotations

import base64
import csv
import io
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from explorer.server.library import Library
from explorer.server.routes import PREFIX
from explorer.server.tasks import Task
from explorer.server.visitors import Caller
from explorer.settings import Limits, Settings
from explorer.tabs.retrieve import heat
from explorer.tabs.retrieve.bodies import Open
from explorer.tabs.retrieve.routes import retrieval_routes
from explorer.tabs.retrieve.service import RetrievalService
from tests.data.world import encode
from tests.explorer.page import Client, Line, Watched, error, routes
from tests.finetuning.world import mend_config, write_coco
from tests.synthetic import make_run
from tests.tiny import tiny_config, write_images
from tests.tiny import trained as trained_run
from trainers.brought.opening import open_files
from trainers.cli.main import main
from trainers.errors import DataError
from trainers.parameters import Choice
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.looked_at import look
from trainers.retrieval.results import Query, RunArm
from trainers.retrieval.retriever import Retriever
from trainers.runs import RunFolder
from trainers.worker import Worker


def write_brought(runs: Path) -> str:
    """Write a run of embeddings that were brought along; returns its id."""
    classes = np.arange(30) % 5
    rows = np.eye(5)[classes] + 0.1 * np.random.default_rng(0).normal(size=(30, 5))
    np.savez(runs.parent / "mine.npz", embeddings=rows, labels=classes)
    return open_files(runs, [runs.parent / "mine.npz"]).id


class Search(Client):
    """The addresses of the tab."""

    def __init__(self, runs: Path, **settings: Any) -> None:
        self.settings = Settings(**{"runs": runs, "recorded": runs.parent / "recorded", **settings})
        self.library = Library(self.settings.runs, self.settings.recorded)
        self.service = RetrievalService(self.settings, self.library)
        more = retrieval_routes(self.service)
        super().__init__(routes(self.library, Watched(), Line(), more=more), f"{PREFIX}/retrieval")
        self.client.__enter__()  # one event loop for all requests, as the server has

    def done(self, path: str, content: object) -> dict[str, Any]:
        """The answer of ``open`` and ``search``, wherever it was made."""
        reply = self.json(path, content)
        return reply["answer"] if "answer" in reply else self.service.searches.jobs.get(reply["job"]).wait()

    def refused_search(self, asked: dict[str, Any]) -> str:
        """Why nothing is searched, said at once or of the job."""
        reply = self.post("search", asked)
        if "job" not in reply.json():
            return error(reply)
        job = self.service.searches.jobs.get(reply.json()["job"])
        assert job.done.wait(200)
        return str(self.json(f"job/{job.id}")["error"])

    def search(self, *runs: str, row: int = 3, **changes: object) -> dict[str, Any]:
        return self.done("search", {"runs": runs, "query": {"row": row}, **changes})

    def close(self) -> None:
        self.service.close()
        self.client.__exit__()
        self.library.close()


def train(root: Path, *losses: str, images: Path | None = None, **changes: object) -> RunFolder:
    """A run of a few steps on images of coloured discs in three groups, with its checkpoint."""
    place = images or write_images(root / "images", train=6, test=6, each=6, groups=3)
    settings: dict[str, object] = {"steps": 4, "snapshot_steps": 2, "probe_size": 20}
    folder = RunFolder.create(root / "runs", tiny_config(place, *losses, **(settings | changes)))
    state = Worker(folder, lambda _state: None).run()
    assert state.phase == "finished", state.error
    folder.db.close()
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return train(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def weights(trained: RunFolder) -> Iterator[Search]:
    """A page over the run with weights."""
    made = Search(trained.path.parent)
    yield made
    made.close()


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Search]:
    made = Search(tmp_path / "runs")
    yield made
    made.close()


def test_what_can_be_chosen(page: Search) -> None:
    start = page.json("start")
    assert [gallery["name"] for gallery in start["galleries"]] == list(GALLERIES) and start["anywhere"]
    assert page.json("runs") == {"runs": []}
    finished = make_run(page.settings.runs, points=48, frames=3)
    queued = make_run(page.settings.runs, phase="queued")
    about = {run["id"]: run for run in page.json("runs")["runs"]}
    assert about[finished.id]["steps"] == [0, 25, 50] and about[finished.id]["why"] is None
    assert "has not read its images yet" in about[queued.id]["why"]
    assert page.json(f"run/{finished.id}") == about[finished.id]


def test_the_probe_answers_from_what_the_run_keeps(page: Search) -> None:
    folder = make_run(page.settings.runs, points=96, frames=3)
    answer = page.search(folder.id, row=5, k=7)
    labels, vectors = folder.probe().labels, folder.embeddings(2)[0].astype(np.float64)
    near = vectors @ vectors[5] / np.linalg.norm(vectors, axis=1)
    near[5] = -2
    arm = answer["arms"][0]
    assert [result["row"] for result in arm["ranking"]["results"]] == np.argsort(-near)[:7].tolist()
    assert (arm["step"], answer["count"], answer["query"]) == (50, 96, 5)
    for one in arm["ranking"]["results"]:
        shared = int((labels[one["row"]] == labels[5]).sum())
        assert one["severity"] == shared and (one["ancestor"] is None) == (shared == 0)
    assert answer["words"][3] == "same product" and arm["index"]["name"] == "flat"


def test_a_run_that_is_deleted_while_it_is_open(page: Search) -> None:
    stays, goes = (make_run(page.settings.runs, points=48, frames=2) for _ in range(2))
    page.search(stays.id, goes.id)
    goes.delete()
    answer = page.search(stays.id, goes.id)
    assert {arm["run"] for arm in answer["arms"] if arm["error"] is None} == {stays.id}
    (lost,) = [arm for arm in answer["arms"] if arm["run"] == goes.id]
    assert goes.id in lost["error"]
    reply = page.post("search", {"runs": [goes.id], "query": {"row": 1}})
    assert reply.status_code == 404 and page.get(f"run/{goes.id}").status_code == 404


# ----------------------------------------------------------------------- galleries


def test_a_gallery_is_opened_listed_shown_and_searched(weights: Search, trained: RunFolder) -> None:
    gallery = {"name": "test"}
    where = f"{trained.id}/test"
    for path in (f"rows/{where}", f"image/{where}/0"):
        assert "choose it again" in weights.get(path).json()["error"]
    about = weights.done("open", {"run": trained.id, "gallery": gallery})
    assert about["count"] == 36 and about["labelled"]
    listed = weights.json(f"rows/{where}?text=COLOUR09&count=4&row=8")
    assert listed["total"] == 6 and all(classes[0] == "colour09" for _, classes in listed["rows"])
    (row, _), *_ = listed["rows"]
    assert weights.json(f"rows/{where}?row={row}")["place"] == row
    with Image.open(io.BytesIO(weights.get(f"image/{where}/{row}?side=16").content)) as image:
        assert image.size == (16, 16)
    assert weights.get(f"image/{where}/36").status_code == 404
    answer = weights.search(trained.id, row=row, gallery=gallery)
    assert answer["gallery"] == "test" and all(arm["error"] is None for arm in answer["arms"])
    assert row not in [result["row"] for result in answer["arms"][0]["ranking"]["results"]]
    again = weights.json("search", {"runs": [trained.id], "query": {"row": row}, "gallery": gallery})
    assert "answer" in again, "what was made once is answered at once"


def test_a_query_of_one_gallery_in_another(weights: Search, trained: RunFolder) -> None:
    for name in ("test", "train"):
        weights.done("open", {"run": trained.id, "gallery": {"name": name}})
    asked = {"runs": [trained.id], "query": {"row": 2, "gallery": {"name": "probe"}}, "gallery": {"name": "test"}}
    assert weights.done("search", asked)["query"] == trained.probe().rows[2]
    answer = weights.done("search", asked | {"gallery": {"name": "train"}})
    assert answer["query"] is None and len(answer["classes"]) == 2
    assert all(arm["ranking"]["results"][0]["severity"] in (0, 1) for arm in answer["arms"])


def test_re_ranking_comes_with_both_lists(weights: Search, trained: RunFolder) -> None:
    answer = weights.search(trained.id, row=4, rerank="k_reciprocal", k=5)
    for arm in answer["arms"]:
        assert len(arm["reranked"]["results"]) == len(arm["ranking"]["results"]) == 5
        assert set(arm["reranked"]["scores"]) == set(arm["ranking"]["scores"])


def test_results_can_be_kept_as_tables(weights: Search, trained: RunFolder) -> None:
    answer = weights.search(trained.id, row=4, k=3)
    reply = weights.get(f"table/{answer['table']}.csv")
    assert "attachment" in reply.headers["content-disposition"]
    lines = list(csv.DictReader(io.StringIO(reply.text)))
    table = pq.read_table(io.BytesIO(weights.get(f"table/{answer['table']}.parquet").content)).to_pylist()
    assert [int(line["row"]) for line in lines] == [line["row"] for line in table]
    assert [line["rank"] for line in table] == [1, 2, 3] * 2
    for path in (f"table/{answer['table']}.exe", "table/0123.csv"):
        assert weights.get(path).status_code == 404


# ------------------------------------------------------------------------- uploads


def picture() -> bytes:
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[8:32, 18:42] = (200, 60, 60)
    return encode(pixels)


def test_an_image_of_ones_own(weights: Search, trained: RunFolder) -> None:
    upload = weights.post("upload", picture()).json()["upload"]
    with Image.open(io.BytesIO(weights.get(f"upload/{upload}").content)) as shown:
        assert shown.width == shown.height
    answer = weights.done("search", {"runs": [trained.id], "query": {"upload": upload}, "k": 4})
    for arm in answer["arms"]:
        assert len(arm["ranking"]["results"]) == 4 and arm["ranking"]["scores"] == {}
        assert all(result["severity"] is None for result in arm["ranking"]["results"])
    assert "not known" in answer["notes"][0]


def test_a_map_of_a_query_is_that_of_the_package(weights: Search, trained: RunFolder) -> None:
    answer = weights.done("look", {"runs": [trained.id], "query": {"row": 2}, "result": 5, "grid": 3})
    arms = [RunArm(folder=trained, arm=arm) for arm in (0, 1)]
    direct = look(Retriever(), arms, Query(row=2), Choice(name="probe"), result=5, grid=3).as_json()
    plain = [{name: value for name, value in arm.items() if name not in ("picture", "words")} for arm in answer["arms"]]
    assert plain == direct["arms"] and answer["of"] == direct["of"] == "image 6"
    for arm in answer["arms"]:
        drawn = Image.open(io.BytesIO(base64.b64decode(arm["picture"].removeprefix("data:image/png;base64,"))))
        assert drawn.size == (heat.SIDE, heat.SIDE)
        most = np.argwhere(np.asarray(arm["falls"]) == np.max(arm["falls"]))[0] + 1
        assert arm["words"].endswith(f"at row {most[0]}, column {most[1]}")
    upload = weights.post("upload", picture()).json()["upload"]
    own = weights.done("look", {"runs": [trained.id], "query": {"upload": upload}, "grid": 4})
    assert "first 10 results" in own["of"] and [len(arm["falls"]) for arm in own["arms"]] == [4, 4]
    for changes, words in (
        ({"grid": 99}, "grid needs"),
        ({"runs": []}, "1 to 4"),
        ({"query": {}}, "got neither"),
        ({"runs": ["0" * 26]}, "There is no run"),
    ):
        reply = weights.post("look", {"runs": [trained.id], "query": {"row": 2}, **changes})
        assert words in error(reply)


# ------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"runs": []}, "a list of 1 to 4 runs"),
        ({"runs": ["../../etc"]}, "26 letters and digits"),
        ({"query": {}}, "got neither"),
        ({"query": {"row": 1, "upload": "0" * 32}}, "got both"),
        ({"query": {"row": 10**8}}, "numbered from 0"),
        ({"k": 10**6}, "a whole number from 1 to 100"),
        ({"index": "magic"}, "There is no index 'magic'"),
        ({"gallery": {"name": "probe", "source": "drawn"}}, "no parameter 'source'"),
        ({"gallery": {"name": "test"}, "step": 3}, "Earlier steps"),
    ],
)
def test_what_is_wrong_is_a_sentence(page: Search, changes: dict, words: str) -> None:
    folder = make_run(page.settings.runs, points=48, frames=2)
    assert words in page.refused_search({"runs": [folder.id], "query": {"row": 1}} | changes)


def test_odd_addresses_are_sentences(page: Search) -> None:
    folder = make_run(page.settings.runs, points=48, frames=1)
    for path in ("rows/{}/probe?offset=x", "image/{}/probe/x", "image/{}/probe/1?side=x", "job/none"):
        assert page.refused(path.format(folder.id)).endswith("."), path
    for ref in ("0" * 32, "../../x"):
        assert page.post("search", {"runs": [folder.id], "query": {"upload": ref}}).status_code == 404
        assert page.get(f"upload/{ref.replace('/', '%2F')}").status_code == 404


def test_hostile_names_come_through_as_text(tmp_path: Path) -> None:
    images = tmp_path / "images"
    names = ['<img src=x onerror="alert(1)">', "=cmd()", "a" * 120, "שלום"]
    for split in ("train", "test"):
        for number, name in enumerate(names):
            place = images / split / f"{name}{split}"
            place.mkdir(parents=True)
            for index in range(4):
                shade = np.full((24, 24, 3), 40 * number + index, np.uint8)
                Image.fromarray(shade).save(place / f"{index}.png")
    folder = train(tmp_path, "supcon", images=images, classes_per_batch=2, images_per_class=2)
    page = Search(folder.path.parent)
    answer = page.search(folder.id, row=0)
    results = {name for result in answer["arms"][0]["ranking"]["results"] for name in result["classes"]}
    assert any(name.startswith("<img") for name in results | set(answer["classes"]))
    text = page.get(f"table/{answer['table']}.csv").text
    assert "\n=cmd" not in text and ",=cmd" not in text
    assert page.json(f"rows/{folder.id}/probe?text=%3Cimg")["total"] == 4
    page.close()


# --------------------------------------------------------------------- many visitors


@contextmanager
def held_up(page: Search, **asking: str) -> Iterator[None]:
    """Something long is under way in the background."""
    free = threading.Event()
    job = page.service.searches.jobs.add(Task(work=lambda _: {"free": free.wait(60)}, caller=Caller(**asking)))
    try:
        yield
    finally:
        free.set()
        job.done.wait(60)


def test_a_search_in_the_background_is_followed_and_stopped(weights: Search, trained: RunFolder) -> None:
    asked = {"runs": [trained.id], "query": {"row": 0}, "gallery": {"name": "train"}}
    stored = {"runs": [trained.id], "query": {"row": 0}}
    with held_up(weights):
        job = weights.json("search", asked)["job"]
        assert weights.json(f"job/{job}")["phase"] == "waiting"
        assert "answer" in weights.json("search", stored), "what the run keeps is answered meanwhile"
        weights.json(f"job/{job}/stop", {})
        assert weights.json(f"job/{job}")["phase"] == "stopped"
    assert weights.done("search", asked)["gallery"] == "train"


def test_a_stranger_has_few_searches_at_a_time(tmp_path: Path) -> None:
    page = Search(tmp_path / "runs", public=True, limits=Limits(searches=1))
    folder = make_run(page.settings.runs, points=48, frames=1)
    asked = Open.of({"run": folder.id, "gallery": {"name": "train"}})
    with held_up(page, address="10.1.1.1"):
        with pytest.raises(DataError, match="1 of your searches"):
            page.service.searches.open(asked, Caller(address="10.1.1.1"))
        other = page.service.searches.open(asked, Caller(address="10.1.1.2"))["job"]
        page.service.searches.jobs.stop(page.service.searches.jobs.get(other))
    page.close()


def test_strangers_have_bounded_results_and_catalogue_datasets(tmp_path: Path) -> None:
    page = Search(tmp_path / "runs", public=True)
    folder = make_run(page.settings.runs, points=48, frames=2)
    start = page.json("start")
    assert not start["anywhere"] and start["most"] == 30
    asked = {"runs": [folder.id], "query": {"row": 1}}
    assert "30 results at most" in page.refused("search", asked | {"k": 31})
    for source in (str(tmp_path), "somebody/photos", "/etc"):
        gallery = {"name": "dataset", "source": source}
        assert "catalogue" in page.refused("open", {"run": folder.id, "gallery": gallery})
        assert "catalogue" in page.refused("search", asked | {"gallery": gallery})
        assert "catalogue" in page.get(f"image/{folder.id}/dataset/0?source={source}").json()["error"]
    page.close()


# ---------------------------------------------------------------- before and after something is removed

BOX = {"boxes": [[0.3, 0.3, 0.8, 0.9]]}
FORMS = ["whole", "without", "alone"]


@pytest.fixture(scope="module")
def kinds(trained: RunFolder) -> dict[str, str]:
    """Ids of runs by what they are: coloured discs, a fine-tuning on photographs with boxes, and a recording."""
    root = trained.path.parent
    mended = trained_run(root, mend_config(write_coco(root.parent / "coco"), {"removed": False}))
    recorded = root.parent / "recorded" / "01ABCDEFGHJKMNPQRSTVWXYZ01"
    trained.db.close()  # a recording is read as it is, without what its database has not written yet
    shutil.copytree(trained.path, recorded, ignore=shutil.ignore_patterns("ckpt"))
    return {"metric_learning": trained.id, "finetuning": mended.id, "recorded": recorded.name}


def about_row(run: str, **query: object) -> dict[str, Any]:
    return {"runs": [run], "query": {"row": 0, **query}}


def removed(page: Search, run: str, **query: object) -> dict[str, Any]:
    return page.done("search", about_row(run, fill="mean", **query) | {"k": 6})


def test_runs_of_every_kind_answer(weights: Search, kinds: dict[str, str]) -> None:
    for kind, run in kinds.items():
        answer = removed(weights, run, remove=BOX)
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


def test_classes_go_one_or_several(weights: Search, kinds: dict[str, str]) -> None:
    run = kinds["finetuning"]
    names = [one["class"] for one in weights.done("objects", {"run": run, "row": 0})["objects"]]
    assert len(names) == 2
    for some in (names[:1], names):
        assert list(removed(weights, run, remove={"classes": some})["removed"]) == some
    assert "has no 'unicorn'" in weights.refused_search(about_row(run, remove={"classes": ["unicorn"]}))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"remove": {}}, "classes, boxes or strokes"),
        ({"remove": {"boxes": [[0, 0, 1, 1]]}}, "whole image"),
        ({"remove": 3}, "remove needs"),
        ({"remove": BOX, "fill": "rerender"}, "Only the drawn scenes"),
        ({"remove": {"classes": ["dog"]}}, "No object of this image is known"),
    ],
)
def test_what_cannot_be_removed_is_a_sentence(weights: Search, trained: RunFolder, query: dict, words: str) -> None:
    assert words in weights.refused_search(about_row(trained.id, **query))


def test_a_run_that_was_brought_along_is_searched_with_its_own_images(tmp_path: Path, capsys) -> None:
    run = write_brought(tmp_path / "runs")
    tab = Search(tmp_path / "runs")
    try:
        for gallery in ("probe", "test"):
            (arm,) = tab.search(run, row=3, gallery={"name": gallery}, k=5)["arms"]
            assert [found["row"] % 5 for found in arm["ranking"]["results"]] == [3] * 5
        refused = tab.refused_search({"runs": [run], "query": {"row": 3}, "gallery": {"name": "train"}})
        assert "the images on its maps can be searched" in refused
    finally:
        tab.close()
    assert main(["retrieve", run, "--row", "3", "--k", "2", "--runs", str(tmp_path / "runs")]) == 0
    assert "same labels: 3" in capsys.readouterr().out
