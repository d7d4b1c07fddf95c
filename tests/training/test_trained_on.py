"""A run is resumed on the images and labels that it was trained on, and on no others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.tiny import tiny_config, trained, write_images
from trainers.config import Conditions, DataChoice
from trainers.errors import RunError
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder
from trainers.training.trained_on import TrainedOn

LABELS = torch.tensor([[0, 0], [1, 0], [2, 1]])


def test_other_images_and_other_labels_are_refused() -> None:
    about = TrainedOn.of(LABELS).about()
    TrainedOn.of(LABELS.clone()).check(about, "r")
    with pytest.raises(RunError, match="trained on 3 images, and now there are 2"):
        TrainedOn.of(LABELS[:2]).check(about, "r")
    for other in (LABELS[[1, 0, 2]], LABELS.clone().index_fill_(0, torch.tensor([2]), 0)):
        with pytest.raises(RunError, match="other labels of its 3 images"):
            TrainedOn.of(other).check(about, "r")


def test_older_checkpoints_say_less() -> None:
    TrainedOn.of(LABELS).check({}, "r")
    TrainedOn.of(LABELS[[1, 0, 2]]).check({"trained_on": 3}, "r")


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
