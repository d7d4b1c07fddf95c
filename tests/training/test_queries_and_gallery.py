"""A run on a test of queries and a gallery: every number and list of it is of queries against the gallery."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.server.library import Library
from explorer.tabs.live.neighbours import neighbours
from explorer.tabs.live.suggestion import suggested
from explorer.tabs.retrieve.mistake_bodies import Classes, Mistakes, Queries
from explorer.tabs.retrieve.mistakes import MistakeAnswers
from tests import synthetic
from tests.retrieval.conftest import trained
from tests.tiny import tiny_config, tiny_contrastive, write_images
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.base import CAMERA, GALLERY, QUERY, ROLE
from trainers.data.roles import Roles
from trainers.errors import UserError
from trainers.kinds import kind_of
from trainers.metrics import evaluate
from trainers.metrics.scores import score_roles
from trainers.parameters import Choice
from trainers.retrieval.baseline import disagreements
from trainers.retrieval.encoders import read_encoder
from trainers.retrieval.probe_results import newest_embeddings, probe_results, query_metrics, roles_of
from trainers.retrieval.results import Query, RunArm
from trainers.retrieval.retriever import Retriever
from trainers.runs import RunFolder
from trainers.runs.records import Attribute, Probe

QUERIES, SEARCHED = 12, 24


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``train``, ``query`` and ``gallery``: two queries and four images of the gallery of each of six classes."""
    root = write_images(tmp_path_factory.mktemp("own"))
    for file in sorted((root / "test").glob("*/*.png")):
        side = root / ("query" if int(file.stem) < 2 else "gallery") / file.parent.name
        side.mkdir(parents=True, exist_ok=True)
        file.rename(side / file.name)
        if not list(file.parent.iterdir()):
            file.parent.rmdir()
    (root / "test").rmdir()
    return root


@pytest.fixture(scope="module")
def run(images: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(tmp_path_factory.mktemp("runs"), tiny_config(images, snapshot_steps=3, probe_size=200))


def probe_and_roles(folder: RunFolder) -> tuple[Probe, Roles]:
    probe = folder.probe()
    assert probe is not None
    roles = roles_of(probe)
    assert roles is not None
    return probe, roles


def test_numbers_are_of_queries_against_the_gallery(run: RunFolder, images: Path) -> None:
    (probe, roles), last = probe_and_roles(run), run.scalars()
    assert len(probe.rows) == QUERIES + SEARCHED and roles.query.sum() == QUERIES
    test = load_data(DataChoice(source=str(images), image_size=24)).test
    sides, labels = [torch.from_numpy(side) for side in (roles.queries, roles.searched)], test.labels
    for arm in range(2):
        vectors = read_encoder(run, arm, lambda: (3, 24)).embed(test.images)
        of_sides = [part[side] for side in sides for part in (vectors, labels)]
        expected = evaluate(*of_sides, metrics=["R_at_1", "AP_at_R"])
        for key in ("R_at_1", "AP_at_R"):
            numbers = [s.value for s in last if s.arm == arm and s.key in (key, f"test/{key}")][-2:]
            assert numbers == pytest.approx([expected[key]] * 2)
        counts = {s.key: s.value for s in last if s.arm == arm and ("role" in s.key or "queries" in s.key)}
        assert counts == {
            "probe_role_queries": QUERIES,
            "probe_role_gallery": SEARCHED,
            "queries_without_positive": 0,
            "test/role_queries": QUERIES,
            "test/role_gallery": SEARCHED,
            "test/queries_without_positive": 0,
        }
    kept = run.test_queries()
    assert kept is not None and kept.images == QUERIES + SEARCHED
    assert kept.rows.tolist() == (test.attributes[ROLE] == 0).nonzero()[:, 0].tolist()
    assert np.isfinite(kept.values).all()


def test_cameras_are_kept_and_left_out(images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_data(DataChoice(source=str(images), image_size=24))
    cameras = torch.arange(len(data.test)) % 3
    known = {**data.test.attributes, CAMERA: cameras}
    data = dataclasses.replace(
        data,
        test=dataclasses.replace(data.test, attributes=known),
        attributes={**data.attributes, CAMERA: ("c1", "c2", "c3")},
    )
    monkeypatch.setattr("trainers.training.labelled_loop.load_data", lambda *_: data)
    folder = trained(tmp_path, tiny_config(images, "supcon_out", probe_size=200, steps=2))
    roles = Roles.of(known, data.attributes)
    assert roles is not None
    vectors = read_encoder(folder, 0, lambda: (3, 24)).embed(data.test.images)
    expected = score_roles(vectors, data.test.labels, roles, ["AP_at_R"]).means(data.test.labels.shape[1])
    without = score_roles(vectors, data.test.labels, dataclasses.replace(roles, camera=None), ["AP_at_R"])
    (value,) = [s.value for s in folder.scalars() if s.key == "test/AP_at_R"]
    assert value == pytest.approx(expected["AP_at_R"]) and value != pytest.approx(without.means(1)["AP_at_R"])
    said = "searched for among 24, the gallery, without images of the same class by the same camera; each has"
    assert said in folder.path.joinpath("log.txt").read_text()
    query = int(roles.queries[0])
    assert np.array_equal(probe_and_roles(folder)[1].camera, roles.camera)
    (arm,) = Retriever().retrieve([RunArm(folder=folder, arm=0)], Query(row=query), Choice(name="probe"), k=99).arms
    assert {result.row for result in arm.ranking.results} == {  # type: ignore[union-attr]
        int(row)
        for row in roles.searched
        if data.test.labels[row, 0] != data.test.labels[query, 0] or cameras[row] != cameras[query]
    }


def test_contrastive_runs_search_the_gallery_too(images: Path, tmp_path: Path) -> None:
    config = tiny_contrastive(images, data=DataChoice(source=str(images), image_size=16), metrics=("R_at_5",))
    folder = trained(tmp_path, config)
    numbers = {s.key: s.value for s in folder.scalars()}
    assert (numbers["test/role_queries"], numbers["probe_role_queries"]) == (QUERIES, 12)
    told = kind_of(config).measures_of(config).last_lines(folder.scalars(), ["a"])
    assert "R@1 of 12 queries among 24 of the gallery" in told


def test_a_metric_of_more_results_than_the_gallery_has_is_refused(images: Path, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, metrics=("R_at_25",)))
    with pytest.raises(UserError, match=r"36 images, so a query has 24 results"):
        kind_of(folder.config).loop()(folder)
    trained(tmp_path, tiny_config(images, "supcon_out", metrics=("R_at_24",), steps=1))


def test_lists_of_mistakes_and_differences_are_of_queries(run: RunFolder, tmp_path: Path) -> None:
    (probe, roles), k = probe_and_roles(run), newest_embeddings(run)
    for ids in probe_results(run, k, 10):
        assert ids is not None and ids.shape == (len(probe.rows), 10) and roles.gallery[ids].all()
        assert not (ids == np.arange(len(ids))[:, None]).any()
    measured = query_metrics(run, k)
    assert all(np.isnan(arm.values["AP"][roles.gallery]).all() for arm in measured)
    assert all(np.isfinite(arm.values["AP"][roles.query]).all() for arm in measured)
    answer = disagreements(run, k)
    assert answer.queries == QUERIES and all(roles.query[query.points[0]] for query in answer.differing)
    assert disagreements(run, k, among={*roles.searched.tolist()}).queries == 0
    section = MistakeAnswers(Library(run.path.parent, tmp_path))
    severity = section.severity(Mistakes.of({"run": run.id, "k": 5}))
    assert (severity["queries"], severity["left_out"]) == (QUERIES, 0)
    assert all(roles.query[row["query"]] for arm in severity["arms"] for row in arm["confusions"])
    listed = section.classes(Classes.of({"run": run.id, "k": 5}))["classes"]
    assert listed and all(roles.query[row["point"]] for row in listed)
    assert section.queries(Queries.of({"run": run.id}))["queries"] == QUERIES
    assert len(section.training(Mistakes.of({"run": run.id, "k": 5}))["steps"]) == len(run.snapshots())


@pytest.mark.parametrize("name", ["probe", "test"])
def test_searches_are_of_the_gallery(run: RunFolder, name: str) -> None:
    retriever, arms = Retriever(), [RunArm(folder=run, arm=0)]
    gallery = retriever.gallery(run, Choice(name=name))
    roles = gallery.roles
    assert roles is not None
    query, shown = int(roles.queries[0]), int(roles.searched[0])
    for index in (None, Choice(name="hnsw")):
        answer = retriever.retrieve(arms, Query(row=query), Choice(name=name), k=100, index=index)
        (arm,) = answer.arms
        assert arm.error is None and arm.ranking is not None
        assert {result.row for result in arm.ranking.results} == {*roles.searched.tolist()}
        assert answer.notes == ("Searched among 24 of 36 images, the gallery.",)
    compared = query_metrics(run, newest_embeddings(run))[0].values["AP"]
    if name == "probe":
        assert arm.ranking.scores["AP"] == pytest.approx(compared[query])
    (arm,) = retriever.retrieve(arms, Query(row=shown), Choice(name=name), k=100).arms
    assert {result.row for result in arm.ranking.results} == {*roles.searched.tolist()} - {shown}  # type: ignore[union-attr]
    again = retriever.retrieve(arms, Query(row=query), Choice(name=name), rerank=Choice(name="k_reciprocal"), k=30)
    assert all(roles.gallery[result.row] for result in again.arms[0].final.results)  # type: ignore[union-attr]


def with_cameras(root: Path) -> tuple[RunFolder, Roles]:
    """A made-up run with maps whose images are queries and a gallery, by three cameras."""
    folder = synthetic.make_run(root, points=60, frames=2)
    probe, draws = folder.probe(), np.random.default_rng(0)
    assert probe is not None
    role, camera = (draws.integers(0, some, 60).astype(np.int32) for some in (2, 3))
    known = (
        Attribute(name=ROLE, names=(QUERY, GALLERY), values=role),
        Attribute(name=CAMERA, names=("c1", "c2", "c3"), values=camera),
    )
    sheets = [folder.sheet_path(number).read_bytes() for number in range(probe.sheets)]
    folder.write_probe(dataclasses.replace(probe, attributes=known), sheets)
    _, roles = probe_and_roles(folder)
    assert roles.camera is not None
    return folder, roles


def test_the_lists_of_the_live_page_are_of_the_gallery(tmp_path: Path) -> None:
    folder, roles = with_cameras(tmp_path)
    library = Library(tmp_path, tmp_path)
    run, labels = library.get(folder.id), folder.probe().labels  # type: ignore[union-attr]
    k = newest_embeddings(folder)
    results, measured = probe_results(folder, k, 10), query_metrics(folder, k, ["AP"])
    for point in (int(roles.queries[0]), int(roles.queries[5]), int(roles.searched[0])):
        hidden = roles.hidden(np.array([point]), labels[:, 0])[0]
        for arm, told in enumerate(neighbours(library, run, k, point)["arms"]):
            assert told["ids"] == results[arm][point][: len(told["ids"])].tolist()  # type: ignore[index]
            assert len(told["ids"]) == 10 and not hidden[told["ids"]].any()
            scores = {score["key"]: score["value"] for score in told["scores"]}
            expected = measured[arm].values["AP"][point]
            if not math.isnan(expected):
                assert scores["AP"] == pytest.approx(expected, abs=1e-5)
    assert roles.query[suggested(library, run, k)]
