"""The recordings that ship: what they show, and that their numbers follow from what lies beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from explorer.server.library import Library
from explorer.settings import ASSETS
from explorer.tabs.compare.reports import PlanReports
from explorer.tabs.live.first_run import start
from tests.explorer.page import Line
from tests.make.record import KEPT_NEIGHBOURS
from trainers.kinds import diagnoses, kind_of
from trainers.plans.children import children_of
from trainers.runs import RunFolder, list_runs

RECORDED = list_runs(ASSETS / "recorded", read_only=True)
SHIPPED = [folder for folder in RECORDED if folder.config.kind == "metric_learning" and not folder.part_of]
PLANS = [folder for folder in RECORDED if folder.config.kind == "sweep"]
MENDED = [folder for folder in RECORDED if folder.config.kind == "finetuning"]


PRETRAINED = [folder for folder in RECORDED if folder.config.kind == "contrastive"]


def size(*folders: RunFolder) -> int:
    """Bytes that are shipped."""
    return sum(file.stat().st_size for one in folders for file in one.path.rglob("*") if file.is_file())


def test_the_page_opens_on_a_comparison_of_two_losses_on_photographs(tmp_path: Path) -> None:
    config = SHIPPED[0].config
    assert len(config.losses) == 2 and config.data.source == "groceries" and config.encoder.name == "timm_frozen"
    assert size(SHIPPED[0]) < 4_000_000
    library = Library(tmp_path, ASSETS / "recorded")
    assert start(library) == SHIPPED[0].id
    library.close()


def test_the_recording_replays(tmp_path: Path) -> None:
    folder = SHIPPED[0]
    library = Library(tmp_path, folder.path.parent)
    run = library.get(folder.id)
    assert run.recorded and folder.state().phase == "finished"
    ks, probe = folder.frames(), run.probe
    assert probe is not None and len(ks) == 48
    assert [k for k, _, _ in folder.snapshots()] == ks and ks[0] == 0
    first, last = folder.frame(ks[0]), folder.frame(ks[-1])
    assert (first.arms[0].xy == first.arms[1].xy).all(), "both losses start from one map, of the encoder's features"
    (begun,) = {s.value for s in folder.scalars() if (s.key, s.step) == ("R_at_1", 0)}
    assert begun > 0.8
    assert not (last.arms[0].xy == last.arms[1].xy).all()
    assert last.step == folder.config.steps == folder.state().step
    for arm in last.arms:
        assert arm.xy.shape == (len(probe.labels), 2) and arm.neighbours.shape[1] == KEPT_NEIGHBOURS
        assert arm.method == "umap" and 0 < arm.quality <= 1
    assert library.embeddings(run, ks[-1]) is not None
    assert len(library.coordinates(run, ks[-1])) == 4 * len(probe.labels) * 2
    library.close()


def test_the_numbers_of_a_recording_follow_from_its_embeddings() -> None:
    """R@1 as written is R@1 of the embeddings beside it: a recording cannot be edited on one side only."""
    folder = SHIPPED[0]
    k = folder.frames()[-1]
    probe = folder.probe()
    assert probe is not None
    step = folder.frame(k).step
    for arm, embeddings in enumerate(folder.embeddings(k)):
        unit = embeddings.astype(np.float64)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        similarity = unit @ unit.T
        np.fill_diagonal(similarity, -2)
        hit = probe.labels[similarity.argmax(1), 0] == probe.labels[:, 0]
        written = [s.value for s in folder.scalars() if (s.arm, s.key, s.step) == (arm, "R_at_1", step)]
        assert written[-1] == pytest.approx(hit.mean(), abs=0.003)  # stored in half precision


def test_the_recorded_mending_shows_its_gain() -> None:
    folder = MENDED[0]
    assert [dict(values) for values in folder.config.recipes] == [{"removed": False}, {}]
    last = {(s.arm, s.key): s.value for s in folder.scalars()}
    first = {(s.arm, s.key): s.value for s in folder.scalars() if s.step == 0}
    assert first[0, "ODmAP_at_1"] == first[1, "ODmAP_at_1"]
    for key in ("test/ODmAP_at_1", "test/rerendered_ODmAP_at_1"):
        assert last[1, key] > last[0, key] + 0.04  # the lower end of what several seeds give is 6.6 points
    assert abs(last[1, "test/i2t_R_at_5"] - last[0, "test/i2t_R_at_5"]) < 0.02
    assert size(folder) < 3_000_000


def test_the_recorded_pretraining_rises_above_the_untrained_encoder_with_momentum_alone() -> None:
    (folder,) = PRETRAINED
    assert [dict(method.parameters)["momentum"] for method in folder.config.methods] == [0.99, 0]
    knn = [scalar for scalar in folder.scalars() if scalar.key == "knn_accuracy"]
    (floor,) = {scalar.value for scalar in knn if scalar.step == 0}
    momentum, none = ({s.step: s.value for s in knn if s.arm == arm} for arm in range(2))
    assert momentum[max(momentum)] > 2.5 * floor and none[max(none)] < momentum[max(momentum)] / 2
    assert not diagnoses(folder.config, folder)[0] and "Raise the momentum" in diagnoses(folder.config, folder)[1][0]
    assert kind_of(folder.config).by_stage(folder) == "150 contrastive, 60 classifier steps"
    assert size(folder) < 4_000_000


def test_the_comparison_that_ships_has_its_runs_and_its_verdicts(tmp_path: Path) -> None:
    plan = PLANS[0]
    before = {path: path.stat().st_mtime_ns for path in plan.path.parent.rglob("*")}
    library = Library(tmp_path, plan.path.parent)
    reports = PlanReports(library, Line(), None)  # type: ignore[arg-type]
    assert [one["id"] for one in reports.list()] == [plan.id]
    about, told = reports.about(library.get(plan.id), None), reports.report(reports.find(plan.id))
    assert about["recorded"] and about["read_only"] and about["state"]["phase"] == "finished" and not told.missing
    assert {run.phase for run in told.children} == {"finished"}
    assert told.parts[0].table and about["downloads"]
    for run in told.children:
        part = library.get(run.id)
        assert part.recorded and part.folder.part_of == plan.id and library.frame(part, part.folder.frames()[-1])
    library.close()
    assert {path: path.stat().st_mtime_ns for path in plan.path.parent.rglob("*")} == before
    assert size(plan, *children_of(plan)) < 7_000_000


def test_means_of_the_comparison_follow_from_its_queries() -> None:
    """What a run says of the whole test set is the mean over the queries beside it."""
    for run in children_of(PLANS[0]):
        queries = run.test_queries()
        assert queries is not None
        final = {(s.arm, s.key): s.value for s in run.scalars() if s.key.startswith("test/")}
        for arm in range(run.config.arms):
            for metric, values in zip(queries.metrics, queries.values[arm], strict=True):
                assert np.nanmean(values.astype(np.float64)) == pytest.approx(final[arm, f"test/{metric}"], abs=1e-6)
