"""The routes of the tab "Retrieve", over real runs with and without weights."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from explorer.server.tasks import Task
from explorer.server.visitors import Caller
from explorer.settings import ASSETS, Limits
from explorer.tabs.retrieve.bodies import Open
from tests.explorer.searching import Search, train
from tests.explorer.small_world import encoded
from tests.synthetic import make_run
from trainers.errors import DataError
from trainers.metrics import evaluate
from trainers.retrieval.galleries import GALLERIES
from trainers.runs import RunFolder

SCORES = ("AP", "HAP", "NDCG")


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
    assert [gallery["name"] for gallery in start["galleries"]] == list(GALLERIES)
    assert "flat" in [index["name"] for index in start["indexes"]] and start["anywhere"]
    assert {"contextual", "k_reciprocal"} <= {reranking["name"] for reranking in start["rerankings"]}
    assert page.json("runs") == {"runs": []}


def test_the_runs_tell_what_can_be_searched(page: Search) -> None:
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


def test_scores_and_areas_are_those_of_the_metrics(page: Search) -> None:
    import torch

    folder = make_run(page.settings.runs, points=96, frames=2)
    vectors = torch.tensor(folder.embeddings(1)[1], dtype=torch.float64)
    labels = torch.tensor(folder.probe().labels).long()
    others = torch.arange(96) != 5
    values = evaluate(vectors[5:6], labels[5:6], vectors[others], labels[others], metrics=SCORES, per_query=True)
    ranking = page.search(folder.id, row=5)["arms"][1]["ranking"]
    for key in SCORES:
        assert ranking["scores"][key] == pytest.approx(float(values[key][0]), abs=1e-6)
    areas = {name: curve["area"] for name, curve in ranking["curves"].items()}
    assert areas == pytest.approx({"plain": ranking["scores"]["AP"], "hierarchical": ranking["scores"]["HAP"]})


def test_earlier_steps_of_all_runs(page: Search) -> None:
    first = make_run(page.settings.runs, points=48, frames=4)
    second = make_run(page.settings.runs, points=48, frames=2)
    steps = {(arm["run"], arm["step"]) for arm in page.search(first.id, second.id, step=50)["arms"]}
    assert steps == {(first.id, 50), (second.id, 25)}
    assert page.json(f"run/{first.id}")["steps"] == [0, 25, 50, 75]


def test_a_recorded_run_has_no_weights_and_still_answers(tmp_path: Path) -> None:
    page = Search(tmp_path / "runs", recorded=ASSETS / "recorded")
    recorded = page.json("runs")["runs"]
    (about,) = [one for one in recorded if len(one["arms"]) == 2 and one["title"].startswith("Smooth-AP vs HAPPIER")]
    assert len(recorded) == 12, "with a fine-tuning, a pretraining and the runs of the recorded sweep, without itself"
    assert about["recorded"] and not about["weights"]
    answer = page.search(about["id"], row=1)
    assert [arm["error"] for arm in answer["arms"]] == [None] * len(about["arms"])
    upload = page.post("upload", picture()).json()["upload"]
    answer = page.done("search", {"runs": [about["id"]], "query": {"upload": upload}})
    assert all("no checkpoint" in arm["error"] for arm in answer["arms"])
    page.close()


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


def picture(kind: str = "PNG", **options: object) -> bytes:
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[8:32, 18:42] = (200, 60, 60)
    return encoded(pixels, kind, **options)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_an_image_of_ones_own(weights: Search, trained: RunFolder, kind: str) -> None:
    upload = weights.post("upload", picture(kind)).json()["upload"]
    with Image.open(io.BytesIO(weights.get(f"upload/{upload}").content)) as shown:
        assert shown.width == shown.height
    answer = weights.done("search", {"runs": [trained.id], "query": {"upload": upload}, "k": 4})
    for arm in answer["arms"]:
        assert len(arm["ranking"]["results"]) == 4 and arm["ranking"]["scores"] == {}
        assert all(result["severity"] is None for result in arm["ranking"]["results"])
    assert "not known" in answer["notes"][0]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "No image"), (b"%PDF-1.4 no image", "not an image"), (picture()[:60], "cut short")],
)
def test_what_is_no_image_is_refused_in_a_sentence(page: Search, content: bytes, words: str) -> None:
    assert words in page.refused("upload", content)


def test_an_upload_that_is_gone(page: Search) -> None:
    folder = make_run(page.settings.runs, points=48, frames=1)
    for ref in ("0" * 32, "../../x"):
        asked = {"runs": [folder.id], "query": {"upload": ref}}
        assert page.post("search", asked).status_code == 404
        assert page.get(f"upload/{ref.replace('/', '%2F')}").status_code == 404


# ------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"runs": []}, "a list of 1 to 4 runs"),
        ({"runs": ["x"] * 5}, "a list of 1 to 4 runs"),
        ({"runs": ["../../etc"]}, "26 letters and digits"),
        ({"query": {}}, "got neither"),
        ({"query": {"row": 1, "upload": "0" * 32}}, "got both"),
        ({"query": {"row": 10**8}}, "numbered from 0"),
        ({"query": {"row": "3"}}, "query.row needs a whole number"),
        ({"k": 10**6}, "a whole number from 1 to 100"),
        ({"index": "magic"}, "There is no index 'magic'"),
        ({"gallery": {"name": "probe", "source": "drawn"}}, "no parameter 'source'"),
        ({"gallery": {"name": "dataset", "part": "middle"}}, "part"),
        ({"gallery": {"name": "test"}, "step": 3}, "Earlier steps"),
    ],
)
def test_what_is_wrong_is_a_sentence(page: Search, changes: dict, words: str) -> None:
    folder = make_run(page.settings.runs, points=48, frames=2)
    reply = page.post("search", {"runs": [folder.id], "query": {"row": 1}} | changes)
    if reply.status_code == 200:  # found out in the background
        job = page.service.searches.jobs.get(reply.json()["job"])
        job.done.wait(60)
        assert words in str(job.error)
        return
    assert words in reply.json()["error"]


@pytest.mark.parametrize("path", ["rows/{}/probe?offset=x", "image/{}/probe/x", "image/{}/probe/1?side=x", "job/none"])
def test_odd_addresses_are_sentences(page: Search, path: str) -> None:
    folder = make_run(page.settings.runs, points=48, frames=1)
    reply = page.get(path.format(folder.id))
    assert reply.status_code in (400, 404) and reply.json()["error"].endswith(".")


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


def test_two_visitors_get_their_own_answers(page: Search) -> None:
    folder = make_run(page.settings.runs, points=48, frames=2)
    first, second = page.search(folder.id, row=1), page.search(folder.id, row=2)
    assert first["table"] != second["table"]
    assert (first["query"], second["query"]) == (1, 2)
    assert page.get(f"table/{first['table']}.csv").text != page.get(f"table/{second['table']}.csv").text
