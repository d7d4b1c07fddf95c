"""The training loop: paired arms, frames and numbers, honest failures, and the images that a run is resumed on."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from tests.tiny import tiny_config, trained, write_images
from tests.training.batches import next_batch
from tests.training.reopened import reopened
from trainers.config import Conditions, DataChoice, RunConfig
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.errors import RunError
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.metrics import evaluate
from trainers.plans.config import SweepConfig
from trainers.progress import silent
from trainers.runs import RunFolder
from trainers.training.embedding import embed
from trainers.training.pinned import TrainedOn


def trainer(root: Path, config: RunConfig) -> MetricLearningLoop:
    return MetricLearningLoop(RunFolder.create(root, config))


def test_arms_start_equal_by_their_seed_and_part_only_by_their_loss(tmp_path: Path, images: Path) -> None:
    run = trainer(tmp_path, tiny_config(images, "smooth_ap", "smooth_ap", "supcon_out"))
    first, twin, other = (arm.encoder.state_dict() for arm in run.arms)
    assert all(torch.equal(first[name], twin[name]) and torch.equal(first[name], other[name]) for name in first)
    seeded = trainer(tmp_path, tiny_config(images, "smooth_ap", seed=1)).arms[0].encoder.state_dict()
    assert not torch.equal(first["head.weight"], seeded["head.weight"])
    run.advance(60)
    first, twin, other = (arm.encoder.state_dict() for arm in run.arms)
    assert all(torch.equal(first[name], twin[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_a_run_writes_frames_scalars_and_a_final_score(tmp_path: Path, images: Path) -> None:
    config = tiny_config(images, "roadmap", "happier", snapshot_steps=2)
    run = trainer(tmp_path, config)
    assert not run.advance(60) and run.done and run.step == 6
    run.finish()
    assert [step for _, step, _ in run.folder.snapshots()] == [0, 2, 4, 6]
    first = run.folder.embeddings(0)
    assert (first[0] == first[1]).all() and first[0].shape == (30, 16)
    keys = {scalar.key for scalar in run.folder.scalars() if scalar.arm == 1}
    assert {"loss", "R_at_1", "AP_at_R", "HAP", "train_R_at_1", "images_per_s", "test/R_at_1"} <= keys
    assert any(key.startswith("term/") for key in keys) and "clipped_share" not in keys
    assert all(0 <= s.value <= 1 for s in run.folder.scalars() if s.key.endswith("R_at_1"))
    test, ended = load_data(config.data, silent).test, run.folder.newest("test/AP_at_R")[1, "test/AP_at_R"]
    scores = evaluate(embed(run.arms[1].encoder, test.images, torch.device("cpu")), test.labels, metrics=["AP_at_R"])
    assert ended == pytest.approx(scores["AP_at_R"]) and ended < 1
    spent = {s.arm: s.value for s in run.folder.scalars() if s.key == "test/processor_seconds"}
    assert spent == {arm.index: arm.processor_seconds for arm in run.arms} and min(spent.values()) > 0
    counts = {s.key: s.value for s in run.folder.scalars() if "queries" in s.key}
    assert counts == {"queries_without_positive": 0, "test/queries_without_positive": 0}
    log = run.folder.path.joinpath("log.txt").read_text()
    assert log.count("every image of the probe has another one") == 1 and "clipping" not in log
    probe = run.folder.probe()
    assert probe is not None and run.folder.sheet_path(0).is_file() and len(probe.labels) == 30


def test_a_batch_holds_all_classes_where_there_are_too_few(tmp_path: Path, images: Path) -> None:
    run = trainer(tmp_path, tiny_config(images, classes_per_batch=20))
    assert "8 classes, all there are to train on; 20 were asked for" in (run.folder.path / "log.txt").read_text()
    assert next_batch(run).labels[:, 0].unique().numel() == 8


def test_frozen_features_are_computed_once(tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    head = {"model": "resnet18", "pretrained": False, "hidden": 32}
    config = tiny_config(images, "supcon_out", encoder="timm_frozen", encoder_parameters=head, steps=3)
    run = trainer(tmp_path, config)
    backbone = run.arms[0].encoder.backbone.conv1.weight.clone()
    run.advance(60)
    assert torch.equal(run.arms[0].encoder.backbone.conv1.weight, backbone)
    files = list((tmp_path / "cache" / "features").glob("*/features.npy"))
    assert len(files) == 2
    stamps = [file.stat().st_mtime_ns for file in files]
    trainer(tmp_path, config)
    assert [file.stat().st_mtime_ns for file in files] == stamps


def train_scores(run: MetricLearningLoop) -> list[int]:
    return [s.step for s in run.folder.scalars() if s.key == "train_R_at_1" and s.arm == 1]


@pytest.mark.parametrize(("seconds", "expected"), [(1e9, [0, 6]), (0.0, [0, 2, 4, 6])])
def test_training_images_are_scored_seldom_and_at_the_end(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, expected: list[int]
) -> None:
    class EverySecond(MetricLearningLoop):
        def _snapshot_due(self) -> bool:
            return self.step % 2 == 0

    monkeypatch.setattr("trainers.kinds.metric_learning.loop.TRAIN_SECONDS", seconds)
    run = EverySecond(RunFolder.create(tmp_path, tiny_config(images)))
    run.advance(60)
    run.finish()
    assert [step for _, step, _ in run.folder.snapshots()] == [0, 2, 4, 6]
    assert train_scores(run) == expected
    again = trainer(tmp_path, tiny_config(images, snapshot_steps=3))
    again.advance(60)
    again.finish()
    assert train_scores(again) == [0, 3, 6]  # frames by steps are the same on every machine


def test_a_run_resumed_at_its_end_has_one_score_of_its_training_images(tmp_path: Path, images: Path) -> None:
    run = trainer(tmp_path, tiny_config(images))
    run.advance(60)
    run.snapshot()
    run.checkpoint()  # killed while the whole test set is scored
    again = MetricLearningLoop(RunFolder.open(tmp_path, run.folder.id))
    again.finish()
    assert train_scores(again).count(6) == 1


def test_a_run_reads_the_commit_of_the_hub_that_it_began_with(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def load(choice: DataChoice, tell: object) -> LoadedData:
        asked.append(choice.revision)
        data = load_data(dataclasses.replace(choice, revision=None))
        return dataclasses.replace(data, revision=choice.revision or "a" * 40)

    monkeypatch.setattr("trainers.training.labelled_loop.load_data", load)
    run = trainer(tmp_path, tiny_config(images, "supcon_out", steps=7))
    assert run.folder.revision == "a" * 40 and "at commit aaaa" in (run.folder.path / "log.txt").read_text()
    reopened(run)
    assert asked == [None, "a" * 40]
    (run.folder.path / "revision").write_text("../../etc")
    assert RunFolder(run.folder.path).revision == "", "what is no commit is none"
    asked.clear()
    config = tiny_config(images, "supcon_out", steps=7)
    plan = RunFolder.create(tmp_path, SweepConfig(run=config, seeds=(0, 1)))
    for seed in (0, 1):
        part = RunFolder.create(tmp_path, dataclasses.replace(config, seed=seed), part_of=plan.id)
        assert MetricLearningLoop(part).folder.revision == "a" * 40
    other = dataclasses.replace(config, data=dataclasses.replace(config.data, revision="b" * 40))
    assert MetricLearningLoop(RunFolder.create(tmp_path, other, part_of=plan.id)).folder.revision == "b" * 40
    assert asked == [None, "a" * 40, "b" * 40], "the runs of a sweep read one commit, unless they vary it"


LABELS = torch.tensor([[0, 0], [1, 0], [2, 1]])


def test_other_images_and_other_labels_are_refused() -> None:
    about = TrainedOn.of(LABELS).about()
    TrainedOn.of(LABELS.clone()).check(about, "r")
    with pytest.raises(RunError, match="trained on 3 images, and now there are 2"):
        TrainedOn.of(LABELS[:2]).check(about, "r")
    for other in (LABELS[[1, 0, 2]], LABELS.clone().index_fill_(0, torch.tensor([2]), 0)):
        with pytest.raises(RunError, match="other labels of its 3 images"):
            TrainedOn.of(other).check(about, "r")


def test_a_noisy_run_is_trained_and_is_not_resumed_with_another_noise(tmp_path: Path) -> None:
    images = write_images(tmp_path / "images", train=4, test=4, each=4)
    data = DataChoice(source=str(images), image_size=24, conditions=Conditions(label_noise=0.25))
    folder = trained(tmp_path / "runs", tiny_config(images, "smooth_ap", steps=1, data=data))
    probe = folder.probe()
    assert probe is not None and probe.data_title == "images, 25 % label noise"
    assert any("4 of 16 training images have the label of another class" in note for note in probe.notes)
    again = RunFolder.open(tmp_path / "runs", folder.id)
    assert MetricLearningLoop(again).step == 1
    path = folder.path / "config.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["data"]["conditions"]["label_noise"] = 0.5
    path.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(RunError, match="other labels of its 16 images"):
        MetricLearningLoop(RunFolder.open(tmp_path / "runs", folder.id))
