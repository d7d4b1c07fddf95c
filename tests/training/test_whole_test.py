"""The numbers at the end: over every test image, told while they are made, stopped and taken up again; the gap."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.exports.pages import curve_panels, write_curves
from explorer.server.library import Library
from tests.finetuning.world import mend_config, write_coco
from tests.metrics import slow
from tests.tiny import tiny_config
from tests.training.conftest import SMALL
from tests.training.reopened import numbers
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.kinds import kind_of
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import LEFT_OUT, ProbeEvaluator, gap_batches, left_out
from trainers.metrics import describe
from trainers.runs import RunFolder, list_runs
from trainers.runs.records import RunState
from trainers.worker import Worker


class EnoughError(Exception):
    """Raised to stop."""


def evaluator(images: torch.Tensor, labels: torch.Tensor, **more: Any) -> ProbeEvaluator:
    sides = {"train": images, "train_labels": labels, "test": images, "test_labels": labels}
    return ProbeEvaluator(**{**sides, "probe": torch.arange(3), "device": torch.device("cpu"), **more})


def test_a_large_test_set_is_not_cut() -> None:
    count = 20_500
    test = torch.zeros(count, 3, 2, 2, dtype=torch.uint8)
    said: list[str] = []

    def tell(text: str, _fraction: float) -> None:
        said.append(text)
        if "20,500 of" in text:
            raise EnoughError

    model = torch.nn.Flatten().train()
    with pytest.raises(EnoughError):
        evaluator(test, torch.arange(count)[:, None] // 2).whole_test(model, tell)
    assert said[0] == "embedding the whole test set: 128 of 20,500"
    assert said[-1] == "embedding the whole test set: 20,500 of 20,500"
    assert model.training


def test_the_numbers_stand_beside_the_figures(tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tiny_config(images, data=DataChoice(source=str(images), image_size=24, max_images=24), probe_size=20)
    assert Worker(RunFolder.create(tmp_path, config)).run().phase == "finished"
    (folder,) = list_runs(tmp_path)
    values = {scalar.key: scalar.value for scalar in folder.scalars()}
    assert (values["probe_images"], values["train_images"]) == (20, 24)
    assert (values["test/images"], values["test/images_before_cap"]) == (24, 36)
    run = Library(tmp_path, tmp_path / "none").get(folder.id)
    page = tmp_path / "curves.html"
    write_curves(run, page)
    assert "At the end, test set, 24 of its 36 images under the cap:" in page.read_text(encoding="utf-8")
    counted = {describe(key).title for key in ("train_images", "probe_images")}
    assert not counted & set(curve_panels(folder.scalars(), 2, kind_of(run.config).measures))
    assert main([*SMALL, "--data", str(images), "--runs", str(tmp_path / "two")]) == 0
    assert "; whole test set, 36 images:" in capsys.readouterr().out


@pytest.mark.parametrize(("limit", "reached"), [(10, True), (24, True), (25, False)])
def test_a_fine_tuning_on_some_photos_of_a_set_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: int, reached: bool
) -> None:
    config = mend_config(write_coco(tmp_path / "coco", test=16), {"removed": False}, steps=1)
    scenes = dataclasses.replace(config.scenes, limit=limit)
    config = dataclasses.replace(config, scenes=scenes)
    folder = RunFolder.create(tmp_path / "runs", config)
    assert Worker(folder).run().phase == "finished"
    found = {scalar.key: scalar.value for scalar in folder.scalars()}
    assert main(["resume", folder.id, "--runs", str(tmp_path / "runs")]) == 0
    told = capsys.readouterr().out
    if reached:
        assert found["test/photos_of_each_split"] == limit
        assert f", of {limit} images of each split at most:" in told and "all " not in told.partition(":")[0]
    else:
        assert "test/photos_of_each_split" not in found and " removals of the test set against all " in told
    run = Library(tmp_path / "runs", tmp_path / "none").get(folder.id)
    panels = curve_panels(folder.scalars(), 1, kind_of(run.config).measures)
    assert "ODmAP@1" in panels and describe("photos_of_each_split").title not in panels


def test_stopped_while_it_scores_it_is_resumed_to_the_same_end(tmp_path: Path, images: Path) -> None:
    config = tiny_config(images, "supcon_out", snapshot_steps=3)
    whole = RunFolder.create(tmp_path, config)
    assert Worker(whole).run().phase == "finished"
    folder = RunFolder.create(tmp_path, config)

    def stop(state: RunState) -> None:
        if state.message == "scoring the whole test set":
            folder.send("stop")

    state = Worker(folder, stop).run()
    assert (state.phase, state.step) == ("stopped", 6) and folder.test_queries() is None
    assert not [scalar for scalar in folder.scalars() if scalar.key.startswith("test/")]
    assert Worker(folder).run().phase == "finished"
    assert numbers(whole) == numbers(folder)
    kept, again = whole.test_queries(), folder.test_queries()
    assert kept and again and np.array_equal(kept.values, again.values, equal_nan=True)
    assert kept.fingerprint == again.fingerprint != ""
    (first, _), (second, _) = whole.read_checkpoint() or ({}, {}), folder.read_checkpoint() or ({}, {})
    assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_queries_left_out_are_counted() -> None:
    labels = torch.tensor([[0, 0], [0, 0], [1, 0], [2, 1], [3, 1], [3, 1]])  # classes 1 and 2 have one image
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    scored = evaluator(images, labels)
    assert scored.floor()[LEFT_OUT] == 1
    assert scored.whole_test(torch.nn.Flatten()).numbers[f"test/{LEFT_OUT}"] == 2
    assert left_out(2, "of the test set").startswith("queries: 2 images of the test set have no second image")
    assert left_out(0, "of the probe").startswith("queries: every image of the probe has another one")


def labels_of(sizes: list[int]) -> torch.Tensor:
    finest = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    order = torch.randperm(len(finest), generator=torch.Generator().manual_seed(0))
    return torch.stack([finest, finest // 3], 1)[order]


@pytest.mark.parametrize("sampler", ["m_per_class", "two_super_classes"])
def test_every_image_is_in_one_batch_of_the_samplers_shape(sampler: str) -> None:
    labels = labels_of([8, 4, 12, 1, 4, 6, 2, 4, 1])
    config = MetricLearningConfig(sampler=sampler, classes_per_batch=4, images_per_class=4)
    batches = gap_batches(labels, config)
    assert batches is not None and torch.equal(batches, gap_batches(labels, config))
    for batch in batches.unique().tolist():
        classes, counts = labels[batches == batch, 0].unique(return_counts=True)
        if batch < 0:
            assert classes.tolist() == [3, 8]  # alone in their classes, drawn by no sampler
        else:
            assert len(classes) <= 4 and int(counts.max()) <= 4
    assert int(batches.unique(return_counts=True)[1].max()) >= 12  # of 16: classes of fewer images fill less


@pytest.mark.parametrize("sampler", ["m_per_class", "two_super_classes"])
def test_the_numbers_are_those_of_equation_6(sampler: str) -> None:
    labels = labels_of([6, 4, 5, 1, 4, 6, 2, 4])
    config = MetricLearningConfig(sampler=sampler, classes_per_batch=3, images_per_class=4)
    draws = torch.Generator().manual_seed(1)
    images = torch.randint(0, 256, (len(labels), 3, 2, 2), dtype=torch.uint8, generator=draws)
    scored = evaluator(images, labels, batches=lambda given: gap_batches(given, config))
    found = scored.train_score(torch.nn.Flatten())
    emb, batches = images.flatten(1).double(), gap_batches(labels, config)
    rows, members = torch.arange(len(labels)), [batches == batch for batch in batches.unique()]
    inside, whole = [], []
    for q in range(len(labels)):
        within = [_ap(emb, labels, q, rows[member & (rows != q)]) for member in members]
        within = [value for value in within if not np.isnan(value)]
        if within:
            inside.append(np.mean(within))
            whole.append(_ap(emb, labels, q, rows[rows != q]))
    assert found["batch_AP"] == pytest.approx(np.mean(inside), abs=1e-9)
    assert found["whole_AP"] == pytest.approx(np.mean(whole), abs=1e-9)
    assert found["decomposability_gap"] == pytest.approx(np.mean(inside) - np.mean(whole), abs=1e-9)
    assert found["decomposability_gap"] > 0


def _ap(emb: torch.Tensor, labels: torch.Tensor, q: int, gallery: torch.Tensor) -> float:
    if not len(gallery):
        return float("nan")
    (levels,) = slow.ranked_levels(emb[q : q + 1], labels[q : q + 1], emb[gallery], labels[gallery])
    return slow.ap([level == 2 for level in levels])
