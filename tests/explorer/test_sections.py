"""The sections "Mistakes" and "What did it look at?" through the page's routes, on real runs, and what is refused."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.server.library import Library
from explorer.settings import Settings as PageSettings
from explorer.tabs.retrieve import mistake_frames
from explorer.tabs.retrieve.background_routes import background_routes
from explorer.tabs.retrieve.backgrounds import Backgrounds
from explorer.tabs.retrieve.mistake_routes import mistake_routes
from explorer.tabs.retrieve.mistakes import MistakeAnswers
from explorer.tabs.retrieve.service import RetrievalService
from tests.explorer.page import Client, error
from tests.synthetic import diverge, make_run
from tests.tiny import tiny_config, trained, write_images
from trainers.config import DataChoice
from trainers.object_removal.reliance.measure import measure
from trainers.object_removal.reliance.queries import TITLES
from trainers.object_removal.reliance.results import CONTRASTS
from trainers.object_removal.reliance.settings import Settings
from trainers.object_removal.reliance.sources import why_unknown
from trainers.plans.config import SweepConfig
from trainers.retrieval.encoders import encoders_of_run
from trainers.retrieval.mistakes import mistakes
from trainers.retrieval.probe_results import newest_embeddings, probe_results
from trainers.runs import RunFolder

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`:DeprecationWarning")


class Site(Client):
    """The routes over a folder of runs."""

    def __init__(self, root: Path) -> None:
        self.library = Library(root, root / "recorded")
        super().__init__(mistake_routes(MistakeAnswers(self.library)), "/retrieval/mistakes")

    def answer(self, what: str, **asked: Any) -> dict[str, Any]:
        return self.json(what, asked)

    def refused(self, what: str, **asked: Any) -> str:
        return super().refused(what, asked)

    def table(self, name: str, **asked: Any) -> list[list[str]]:
        reply = self.client.get(f"/retrieval/mistakes/{name}.csv", params=asked)
        assert reply.status_code == 200, reply.text
        assert "attachment" in reply.headers["content-disposition"]
        return list(csv.reader(io.StringIO(reply.text)))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return make_run(tmp_path, points=200, frames=4)


def test_severity_is_what_the_package_counts(site: Site, run: RunFolder) -> None:
    answer = site.answer("severity", run=run.id, k=5)
    k = newest_embeddings(run)
    assert (answer["frame"], answer["k"], answer["run"]) == (k, 5, run.id)
    labels = run.probe().labels
    for arm, ids in zip(answer["arms"], probe_results(run, k, 5), strict=True):
        result = mistakes(ids, labels)
        assert arm["top1"] == pytest.approx(result.top1.tolist(), abs=1e-6)
        assert arm["topk"] == pytest.approx(result.topk.tolist(), abs=1e-6)
        assert [one["cost"] for one in arm["confusions"]] == [one.cost for one in result.confusions][:40]
        assert all(confusion["point"] == confusion["query"] for confusion in arm["confusions"])
    assert len(answer["words"]) == len(answer["best"]) == labels.shape[1] + 1


def test_an_earlier_step_has_its_own_frame(site: Site, run: RunFolder) -> None:
    steps = dict(run.frame_steps())
    answer = site.answer("severity", run=run.id, step=steps[2] + 1)
    assert (answer["frame"], answer["step"]) == (2, steps[2])
    assert site.answer("severity", run=run.id, step=0)["frame"] == 0


def test_before_the_first_map_there_are_no_results(site: Site, tmp_path: Path) -> None:
    begun = make_run(tmp_path, points=60, frames=0)
    assert "Choose a later step" in site.refused("severity", run=begun.id, step=5)
    assert "keeps no embeddings" in site.refused("severity", run=begun.id)
    assert site.answer("training", run=begun.id)["steps"] == []


def test_it_follows_the_training(site: Site, run: RunFolder) -> None:
    answer = site.answer("training", run=run.id, k=5)
    assert answer["steps"] == [step for _, step in run.frame_steps()]
    last = site.answer("severity", run=run.id, k=5)
    for arm, other in zip(answer["arms"], last["arms"], strict=True):
        assert arm["top1"][-1] == other["top1"] and arm["topk"][-1] == other["topk"]


def test_classes_are_found_by_name_and_lead_to_their_worst_query(site: Site, run: RunFolder) -> None:
    probe = run.probe()
    all_of = site.answer("classes", run=run.id, level=0, count=200)
    gaps = [np.mean([one["best"] - arm["own"] for arm in one["arms"]]) for one in all_of["classes"]]
    assert gaps == sorted(gaps, reverse=True) and all_of["total"] == len(all_of["classes"])
    named = site.answer("classes", run=run.id, text="kind 1")
    assert named["classes"] and all("kind 1" in one["name"] for one in named["classes"])
    for one in named["classes"]:
        level = probe.hierarchy.levels.index(one["level"])
        assert probe.hierarchy.names[level][probe.labels[one["query"], level]] == one["name"]
    assert site.answer("classes", run=run.id, text="nowhere")["total"] == 0


@pytest.mark.parametrize("lost", [0, 1])
def test_an_arm_that_diverged_is_named_and_the_others_are_shown(site: Site, tmp_path: Path, lost: int) -> None:
    run = make_run(tmp_path, points=120, frames=3, layout=lost == 0)
    whole = site.answer("severity", run=run.id, k=5)
    steps = [step for _, step, _ in run.snapshots()]
    diverge(run, lost, first=1)
    answer = Site(tmp_path).answer("severity", run=run.id, k=5)
    assert answer["arms"] == [whole["arms"][1 - lost]] and whole["diverged"] == []
    assert [(one["arm"], one["title"]) for one in answer["diverged"]] == [(lost, whole["arms"][lost]["title"])]
    assert f"embeddings at step {steps[-1]} are not numbers" in answer["diverged"][0]["why"]
    assert site.answer("severity", run=run.id, k=5, step=steps[0])["diverged"] == []
    assert site.answer("classes", run=run.id, k=5)["arms"] == [answer["arms"][0]["title"]]
    queries = site.answer("queries", run=run.id)
    assert (queries["diverged"], [arm["arm"] for arm in queries["arms"]]) == (1, [1 - lost])
    training = site.answer("training", run=run.id, k=5)
    assert [one is None for one in training["arms"][lost]["top1"]] == [False, True, True]
    assert len(site.table("severity", run=run.id)) == 1 + 2 + 1


def test_a_baseline_on_the_same_images(site: Site, run: RunFolder, tmp_path: Path) -> None:
    other = make_run(tmp_path, points=200, frames=4, arms=3)
    answer = site.answer("queries", run=run.id, baseline=other.id)
    assert [arm["run"] for arm in answer["arms"]] == [run.id] * 2 + [other.id] * 3
    numbers = site.answer("baseline", run=run.id, baseline=other.id)
    assert numbers["whole"] and len(numbers["arms"]) == 2 and numbers["measures"]
    mapped = site.answer("severity", run=other.id, home=run.id)
    assert mapped["apart"] is None
    assert all(confusion["point"] == confusion["query"] for arm in mapped["arms"] for confusion in arm["confusions"])


def test_a_baseline_is_compared_at_the_same_step(site: Site, run: RunFolder, tmp_path: Path) -> None:
    other = make_run(tmp_path, points=200, frames=4)
    step = dict(run.frame_steps())[2]
    answer = site.answer("queries", run=run.id, baseline=other.id, step=step, metric="AP")
    assert answer["queries"] == 200  # two runs alike: at one step, the pairs of arms lie together
    for one in answer["found"]:
        assert one["values"][:2] == pytest.approx(one["values"][2:])
    numbers = site.answer("baseline", run=run.id, baseline=other.id, step=step)
    assert {value for arm in numbers["arms"] for value in arm["numbers"]} <= {0.0, None}


def test_runs_on_other_images_say_so(site: Site, run: RunFolder, tmp_path: Path) -> None:
    other = trained(tmp_path, tiny_config(write_images(tmp_path / "images", groups=2), steps=2))
    answer = site.answer("severity", run=other.id, home=run.id, k=3)  # no map of it is drawn
    assert "not on the same images" in answer["apart"] and answer["arms"]
    assert "not on the same images" in site.refused("queries", run=run.id, baseline=other.id)
    assert "not on the same images" in site.refused("baseline", run=run.id, baseline=other.id)


def test_tables_as_csv(site: Site, run: RunFolder) -> None:
    severity = site.table("severity", run=run.id, k=5)
    assert severity[0][:4] == ["run", "step", "arm", "results"] and severity[-1][2] == "best possible"
    assert len(site.table("training", run=run.id)) == 1 + 2 * 2 * len(run.frame_steps())
    assert site.table("classes", run=run.id, level=0)[0][2] == "class"
    assert len(site.table("confusions", run=run.id)) > 1
    assert site.table("queries", run=run.id, metric="AP")[0][-1] == "spread"
    assert "There is no table" in site.client.get("/retrieval/mistakes/odd.csv").json()["error"]


@pytest.mark.parametrize(
    ("what", "asked", "words"),
    [
        ("severity", {}, "run needs a text"),
        ("severity", {"run": "01ABCDEFGHJKMNPQRSTVWXYZ01"}, "no run"),
        ("severity", {"k": 101}, "k needs a whole number"),
        ("classes", {"level": 9}, "levels of classes"),
        ("classes", {"text": "x" * 300}, "text needs"),
        ("queries", {"metric": "odd"}, "odd"),
        ("queries", {"count": 10**6}, "count needs"),
        ("severity", {"among": "3-"}, "points and ranges"),
        ("severity", {"among": "a"}, "points and ranges"),
        ("severity", {"among": "0-9999999"}, "at most"),
        ("severity", {"among": "150000"}, "None of the sel"),
        ("baseline", {}, "baseline needs"),
    ],
)
def test_bad_bodies_are_refused(site: Site, run: RunFolder, what: str, asked: dict[str, Any], words: str) -> None:
    given = asked if "run" in words or "run" in asked else {"run": run.id, **asked}
    assert words in site.refused(what, **given)


def test_a_run_without_images_or_deleted_or_damaged(site: Site, run: RunFolder, tmp_path: Path) -> None:
    queued = make_run(tmp_path, phase="queued")
    assert site.refused("severity", run=queued.id)
    site.answer("severity", run=run.id, k=5)
    for path in (run.path / "frames").glob("*") if (run.path / "frames").is_dir() else run.path.rglob("*0003*"):
        path.write_bytes(b"")
    assert site.refused("severity", run=run.id, k=6)
    shutil.rmtree(run.path)
    site.library.close()
    assert Site(tmp_path).refused("severity", run=run.id)


def test_an_answer_is_computed_once(site: Site, run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = site.answer("severity", run=run.id)
    monkeypatch.setattr(mistake_frames, "probe_results", lambda *_: pytest.fail("read again"))
    assert site.answer("severity", run=run.id) == first


def test_a_comparison_of_several_runs_has_no_mistakes_of_its_own(site: Site, run: RunFolder, tmp_path: Path) -> None:
    plan = RunFolder.create(tmp_path, SweepConfig())
    for what, first, second in (("severity", plan, run), ("training", plan, run), ("baseline", run, plan)):
        assert "a comparison of several runs" in site.refused(what, run=first.id, baseline=second.id)


def test_an_infinite_number_is_no_difference(site: Site, run: RunFolder, tmp_path: Path) -> None:
    other = make_run(tmp_path, points=200, frames=4)
    run.db.write("UPDATE metrics SET value = ? WHERE arm = 0", [(float("inf"),)])
    for asked in ({}, {"step": max(step for _, step in run.frame_steps())}):
        first, second = site.answer("baseline", run=run.id, baseline=other.id, **asked)["arms"]
        assert set(first["numbers"]) == {None} and 0.0 in second["numbers"]


def test_a_selection_counts_its_queries_alone(site: Site, run: RunFolder) -> None:
    chosen = [2, 3, 4, 9, 50, 51]
    asked = {"run": run.id, "k": 5, "among": "2-4,9,50-51"}
    answer = site.answer("severity", **asked)
    labels, k = run.probe().labels, newest_embeddings(run)
    for arm, ids in zip(answer["arms"], probe_results(run, k, 5), strict=True):
        assert arm["topk"] == pytest.approx(mistakes(ids, labels, among=np.array(chosen)).topk.tolist(), abs=1e-6)
        assert {confusion["point"] for confusion in arm["confusions"]} <= set(chosen)
    assert answer["queries"] + answer["left_out"] == len(chosen)
    classes = site.answer("classes", **asked, count=200)["classes"]
    assert classes and {one["query"] for one in classes} <= set(chosen)
    differing = site.answer("queries", run=run.id, among="2-4,9,50-51")
    assert {one["point"] for one in differing["found"]} <= set(chosen) and differing["queries"] == len(chosen)


# ------------------------------------------------------------------------------------ What did it look at?


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


class Looked(Client):
    """The routes over a folder of runs."""

    def __init__(self, root: Path, *, public: bool = False, each: int | None = None) -> None:
        self.library = Library(root, root / "recorded")
        self.service = Backgrounds(self.library, each=each, public=public)
        super().__init__(background_routes(self.service), "/retrieval/background")

    def close(self) -> None:
        self.service.jobs.close()
        self.library.close()

    def _end(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The job at its end, or what answers at once in its form."""
        if "answer" in reply:
            return {"phase": "done", "result": reply["answer"]}
        self.service.jobs.get(reply["job"]).done.wait(120)
        return self.json(f"job/{reply['job']}")

    def answer(self, what: str, **asked: Any) -> dict[str, Any]:
        job = self._end(self.json(what, asked))
        assert job["phase"] == "done", job
        return dict(job["result"])

    def refused(self, what: str, **asked: Any) -> str:
        reply = self.post(what, asked)
        return str(self._end(reply.json())["error"]) if reply.status_code == 200 else error(reply)


@pytest.fixture
def looked(runs: Path) -> Iterator[Looked]:
    made = Looked(runs)
    yield made
    made.close()


def test_a_measurement_and_its_numbers_and_what_is_not_there(looked: Looked, pots: RunFolder) -> None:
    answer = looked.answer("measure", run=pots.id, queries=20)
    direct = measure(encoders_of_run(pots), Settings(queries=20))
    assert answer["numbers"] == direct.json()["numbers"] or answer["queries"] == len(direct.indices)
    assert list(answer["forms"]) == list(TITLES) and set(answer["contrasts"]) == set(CONTRASTS)
    assert "over queries only" in answer["intervals"]
    key = answer["key"]
    table = list(csv.DictReader(io.StringIO(looked.get(f"{key}/numbers.csv").text)))
    assert len(table) == len(answer["numbers"]) and {row["form"] for row in table} == {*TITLES, *CONTRASTS}
    again = looked.json("measure", dict(run=pots.id, queries=20))
    assert again["answer"]["key"] == key  # kept: no job
    assert looked.get("odd/numbers.csv").status_code == looked.get("job/odd").status_code == 404


def test_that_nothing_is_known_is_said_before_it_is_measured(
    looked: Looked, runs: Path, pots: RunFolder, plain: RunFolder
) -> None:
    """The same sentence as that of a measurement, where no file can say where objects are."""
    tab = RetrievalService(PageSettings(runs=runs, recorded=runs / "recorded"), looked.library)
    told = {run["id"]: run["objects_unknown"] for run in tab.runs()}
    refused = looked.refused("measure", run=plain.id)
    assert told[pots.id] is None and told[plain.id] == refused and "does not say where the objects are" in refused
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


def test_a_run_without_weights_or_deleted(looked: Looked, runs: Path, pots: RunFolder) -> None:
    made_up = make_run(runs, points=30, frames=1)
    assert looked.refused("measure", run=made_up.id, data="drawn", queries=10)
    gone = runs / "01ABCDEFGHJKMNPQRSTVWXYZ01"
    shutil.copytree(pots.path, gone)
    assert looked.answer("measure", run=gone.name, queries=10)
    for weights in (gone / "ckpt").iterdir():
        weights.write_bytes(b"damaged")
    assert "no checkpoint that can be read" in looked.refused("measure", run=gone.name, queries=10)
    shutil.rmtree(gone)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"run": None}, "run needs a text"),
        ({"run": "01ABCDEFGHJKMNPQRSTVWXYZ99"}, "no run"),
        ({"queries": 5}, "queries needs a whole number"),
        ({"fill": "odd"}, "odd"),
    ],
)
def test_bad_measurements_are_refused(looked: Looked, pots: RunFolder, asked: dict[str, Any], words: str) -> None:
    assert words in looked.refused("measure", **({"run": pots.id} | asked))


def test_in_public_it_is_bounded(runs: Path, pots: RunFolder) -> None:
    looked = Looked(runs, public=True, each=1)
    assert looked.service.start()["queries"] == 200
    assert "queries at most" in looked.refused("measure", run=pots.id, queries=201)
    for source in (str(runs), "/etc", "someone/dataset"):
        assert "On a public page" in looked.refused("measure", run=pots.id, data=source)
    assert looked.answer("measure", run=pots.id, queries=20)["gallery"] <= 2000
    looked.close()
