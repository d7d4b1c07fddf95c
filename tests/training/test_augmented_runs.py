"""Metric learning with another augmentation: it is used, a resume is exact, and frozen features refuse it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.tiny import tiny_config
from tests.training.batches import next_batch
from trainers.cli.main import main
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.parameters import Choice
from trainers.runs import RunFolder, list_runs
from trainers.training.augmentations import AUGMENTATIONS


def begun(root: Path, images: Path, augmentation: Choice) -> MetricLearningLoop:
    return MetricLearningLoop(RunFolder.create(root, tiny_config(images, "supcon", augmentation=augmentation)))


# each is a function of seed, step and view, which tests/training/test_augmentations.py checks
QUICK = ("none", "light", "moco_v2", "randaugment")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in AUGMENTATIONS]
)
def test_a_run_trains_with_it_and_resumes_to_the_same_bits(tmp_path: Path, images: Path, name: str) -> None:
    whole = begun(tmp_path, images, Choice(name=name))
    whole.advance(60)
    broken = begun(tmp_path, images, Choice(name=name))
    broken.take_step()
    broken.take_step()
    broken.checkpoint()
    again = MetricLearningLoop(RunFolder.open(tmp_path, broken.folder.id))
    first, second = next_batch(again).views
    assert torch.equal(first, next_batch(broken).views[0]) and torch.equal(first, second) == (name == "none")
    again.advance(60)
    want, got = (run.arms[0].tensors() for run in (whole, again))
    assert [key for key in want if not torch.equal(want[key], got[key])] == []


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


def test_features_that_are_computed_once_cannot_be_augmented(images: Path) -> None:
    for name in ("light", "none"):
        check(tiny_config(images, encoder="timm_frozen", encoder_parameters={}, augmentation=Choice(name=name)))
    for choice in (Choice(name="moco_v2"), Choice(name="light", parameters={"strength": 2.0})):
        with pytest.raises(ParameterError, match=r"images cannot be augmented; got the augmentation .* Choose none"):
            check(tiny_config(images, encoder="timm_frozen", encoder_parameters={}, augmentation=choice))
