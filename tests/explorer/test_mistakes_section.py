"""The section "Mistakes" through the page's routes, on real run folders: answers, tables, and what is refused."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.server.library import Library
from explorer.tabs.retrieve.mistake_routes import mistake_routes
from explorer.tabs.retrieve.mistakes import MistakeAnswers
from tests.explorer.page import Client
from tests.synthetic import diverge, make_run
from trainers.plans.config import SweepConfig
from trainers.retrieval.baseline import disagreements
from trainers.retrieval.mistakes import mistakes
from trainers.retrieval.probe_results import newest_embeddings, probe_results
from trainers.runs import RunFolder

STARLETTE = "ignore:Using `httpx`:DeprecationWarning"
pytestmark = pytest.mark.filterwarnings(STARLETTE)


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
        assert arm["wrong1"] == pytest.approx(result.wrong1.tolist(), abs=1e-6)
        assert [confusion["cost"] for confusion in arm["confusions"]] == [
            confusion.cost for confusion in result.confusions
        ][:40]
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


def test_queries_are_those_on_which_arms_differ(site: Site, run: RunFolder) -> None:
    answer = site.answer("queries", run=run.id, metric="HAP", count=7)
    differing = disagreements(run, newest_embeddings(run), "HAP", most=7)
    assert [one["point"] for one in answer["found"]] == [one.points[0] for one in differing.differing]
    assert answer["title"] == "H-AP" and len(answer["arms"]) == 2


@pytest.mark.parametrize("layout", [True, False])
@pytest.mark.parametrize("lost", [0, 1])
def test_an_arm_that_diverged_is_named_and_the_others_are_shown(
    site: Site, tmp_path: Path, layout: bool, lost: int
) -> None:
    run = make_run(tmp_path, points=120, frames=3, layout=layout)
    whole = site.answer("severity", run=run.id, k=5)
    steps = [step for _, step, _ in run.snapshots()]
    diverge(run, lost, first=1)
    answer = Site(tmp_path).answer("severity", run=run.id, k=5)
    assert answer["arms"] == [whole["arms"][1 - lost]] and whole["diverged"] == []
    assert [(one["arm"], one["title"]) for one in answer["diverged"]] == [(lost, whole["arms"][lost]["title"])]
    assert f"embeddings at step {steps[-1]} are not numbers" in answer["diverged"][0]["why"]
    assert site.answer("severity", run=run.id, k=5, step=steps[0])["diverged"] == []
    classes = site.answer("classes", run=run.id, k=5)
    assert classes["arms"] == [answer["arms"][0]["title"]] and len(classes["classes"][0]["arms"]) == 1
    queries = site.answer("queries", run=run.id)
    assert (queries["diverged"], [arm["arm"] for arm in queries["arms"]]) == (1, [1 - lost])
    training = site.answer("training", run=run.id, k=5)
    assert training["steps"] == steps and training["arms"][1 - lost]["topk"][-1] == answer["arms"][0]["topk"]
    assert [one is None for one in training["arms"][lost]["top1"]] == [False, True, True]
    assert len(site.table("training", run=run.id)) == 1 + 2 * (3 + 1)
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
    from tests.retrieval.conftest import trained
    from tests.tiny import tiny_config, write_images

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
        ("severity", {"k": 0}, "k needs a whole number"),
        ("severity", {"k": 101}, "k needs a whole number"),
        ("severity", {"step": -1}, "step needs a whole number"),
        ("classes", {"level": 9}, "levels of classes"),
        ("classes", {"text": "x" * 300}, "text needs"),
        ("queries", {"metric": "odd"}, "odd"),
        ("queries", {"count": 10**6}, "count needs"),
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
    from explorer.tabs.retrieve import mistake_frames as module

    monkeypatch.setattr(module, "probe_results", lambda *_: pytest.fail("read again"))
    assert site.answer("severity", run=run.id) == first


def test_a_comparison_of_several_runs_has_no_mistakes_of_its_own(site: Site, run: RunFolder, tmp_path: Path) -> None:
    plan = RunFolder.create(tmp_path, SweepConfig())
    for what in ("severity", "training", "classes", "queries", "baseline"):
        assert "a comparison of several runs" in site.refused(what, run=plan.id, baseline=run.id)
    for what in ("queries", "baseline"):
        assert "a comparison of several runs" in site.refused(what, run=run.id, baseline=plan.id)


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
    assert len(site.table("severity", **asked)) > 2
    classes = site.answer("classes", **asked, count=200)["classes"]
    assert classes and {one["query"] for one in classes} <= set(chosen)
    differing = site.answer("queries", run=run.id, among="2-4,9,50-51")
    assert {one["point"] for one in differing["found"]} <= set(chosen) and differing["queries"] == len(chosen)


@pytest.mark.parametrize(
    ("among", "words"),
    [("3-", "points and ranges"), ("a", "points and ranges"), ("0-9999999", "at most"), ("150000", "None of the sel")],
)
def test_a_selection_that_is_none_is_refused(site: Site, run: RunFolder, among: str, words: str) -> None:
    assert words in site.refused("severity", run=run.id, among=among)
