"""Metric learning with another augmentation: its parameters are used, and it is asked for by flag."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.tiny import tiny_config
from tests.training.batches import next_batch
from trainers.cli.main import main
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.parameters import Choice
from trainers.runs import RunFolder, list_runs


def begun(root: Path, images: Path, augmentation: Choice) -> MetricLearningLoop:
    return MetricLearningLoop(RunFolder.create(root, tiny_config(images, "supcon", augmentation=augmentation)))


def test_its_parameters_are_used(tmp_path: Path, images: Path) -> None:
    runs = [begun(tmp_path, images, Choice(name="simclr", parameters={"strength": s})) for s in (0.2, 1.0)]
    views = [next_batch(run).views[0] for run in runs]
    assert views[0].shape == views[1].shape and not torch.equal(views[0], views[1])


def test_it_is_asked_for_on_the_command_line(tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = "--steps 2 --classes-per-batch 4 --images-per-class 3 --encoder small_conv:width=8 --dim 16 --threads 1"
    words = ["train", "--data", str(images), *small.split(), "--losses", "supcon", "--runs", str(tmp_path)]
    words += ["--optimiser", "sgd", "--momentum", "0.8", "--schedule", "step", "--drops", "0.5", "0.75"]
    words += ["--warm-up", "0"]
    assert main([*words, "--augmentation", "moco_v2:blur=0,strength=0.5"]) == 0
    config = list_runs(tmp_path)[0].config
    assert config.augmentation == Choice(name="moco_v2", parameters={"blur": 0, "strength": 0.5})
    assert (config.optimiser, config.momentum, config.schedule) == ("sgd", 0.8, "step")
    assert (config.drops, config.warm_up) == ((0.5, 0.75), 0)
    assert main([*words, "--augmentation", "magic"]) == 1
    assert main([*words, "--augmentation", "moco_v2:blur=7"]) == 1
    said = capsys.readouterr().err
    assert "There is no augmentation 'magic'; choose from none, light, crop_flip, moco_v1" in said
    assert "blur needs a number from 0 to 1; got 7" in said
