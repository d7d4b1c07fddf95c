"""How a mending run trains: the model's own learning rate, the paper's budget and halving; the progress it tells."""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np
import pytest
import torch

from tests.finetuning.world import mend_config
from tests.tiny import tiny_config, write_images
from trainers.cli.start import add_start_flags, configuration
from trainers.config import RunConfig, SceneChoice
from trainers.data.captioned.loader import load_chosen
from trainers.image_text.models import MODELS
from trainers.kinds import check
from trainers.kinds.finetuning import DESCRIPTOR as KIND
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.loop import FinetuningLoop
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.progress import Stages
from trainers.retrieval.encoders import images_of
from trainers.runs import RunFolder
from trainers.runs.identity import read_config
from trainers.training.augmentations import AUGMENTATIONS


def asked(*flags: str) -> RunConfig:
    parser = argparse.ArgumentParser()
    add_start_flags(parser, KIND)
    return configuration(parser.parse_args(flags), KIND)


@pytest.mark.parametrize("model", [name for name, entry in MODELS.items() if entry.trainable])
def test_the_learning_rate_is_the_models_own(model):
    assert asked("--model", model).learning_rate == MODELS[model].learning_rate
    assert asked("--model", model, "--learning-rate", "0.003").learning_rate == 0.003
    assert asked("--model", "clip_vit_b32").learning_rate == 2e-6, "a published model's is lower"
    assert FinetuningConfig().learning_rate == MODELS["tiny_clip"].learning_rate, "what the help of the flag prints"


def test_the_papers_recipe_is_a_preset():
    config = asked("--preset", "paper", "--model", "tiny_clip:fresh=true")
    check(config)
    assert (config.epochs, config.steps, config.minutes, config.halve_every) == (10, None, None, 2)
    assert (config.batch, config.optimiser, config.weight_decay) == (256, "adam", 0.0)
    assert config.learning_rate == MODELS["tiny_clip"].learning_rate
    assert [dict(recipe) for recipe in config.recipes] == [{"removed": False}, {}]
    other = asked("--preset", "paper", "--batch", "32", "--minutes", "2", "--weight-decay", "0.1")
    assert (other.batch, other.weight_decay, other.optimiser, other.halve_every) == (32, 0.1, "adam", 2)
    assert (other.minutes, other.epochs, other.steps) == (2, None, None), "one's own budget replaces the preset's"


def test_what_is_not_given_is_as_it_was():
    config = asked()
    assert (config.steps, config.minutes, config.epochs, config.halve_every) == (250, None, None, None)
    assert (config.batch, config.optimiser, config.weight_decay) == (128, "adamw", 0.01)
    assert (asked("--epochs", "3").steps, asked("--epochs", "3").epochs) == (None, 3)
    assert (asked("--epochs", "3", "--steps", "9").steps, asked("--minutes", "1").steps) == (9, None)


@pytest.mark.long
def test_epochs_are_counted_over_the_largest_recipe(photos, tmp_path):
    settings = {"epochs": 2.0, "steps": None, "optimiser": "adam", "halve_every": 0.5, "weight_decay": 0.0}
    settings["snapshot_steps"] = 1000
    config = mend_config(photos, {"removed": False}, {}, **settings)
    assert read_config(config.to_json()) == config
    mender = FinetuningLoop(RunFolder.create(tmp_path, config))
    largest = max(len(arm.examples) for arm in mender.arms)
    steps = 2 * (largest // 8)
    assert largest == 72 + 6 and mender.planned_steps == steps
    while mender.advance(5.0):
        pass
    assert mender.step == steps
    for arm in mender.arms:
        optimiser = arm.optimizer.optimiser
        assert type(optimiser) is torch.optim.Adam
        last = 1e-3 * 0.5 ** int((steps - 1) / (largest // 8) / 0.5)
        assert {group["lr"] for group in optimiser.param_groups} == {last}


def test_metric_learning_counts_epochs_too(tmp_path):
    images = write_images(tmp_path / "images")  # 8 classes of 6
    config = tiny_config(images, "smooth_ap", epochs=1.5, steps=None, optimiser="adam", halve_every=1.0)
    trainer = MetricLearningLoop(RunFolder.create(tmp_path / "runs", config))
    while trainer.advance(5.0):
        pass
    assert trainer.step == 6  # 48 images, 12 in a batch
    optimiser = trainer.arms[0].optimizer.optimiser
    assert type(optimiser) is torch.optim.Adam and optimiser.param_groups[0]["lr"] == config.learning_rate / 2


def test_images_are_augmented_before_the_model_if_the_run_asks(photos, tmp_path):
    plain = FinetuningLoop(RunFolder.create(tmp_path, mend_config(photos, {"removed": False}, {})))
    assert plain.config.augmentation.name == "none"
    config = asked("--augmentation", "moco_v2:strength=0.5,blur=0", "--data", str(photos), "--model", "tiny_clip")
    own = mend_config(photos, {"removed": False}, {}, augmentation=config.augmentation, seed=3)
    changed = FinetuningLoop(RunFolder.create(tmp_path, own))
    seen: list[torch.Tensor] = []
    for run in (plain, changed):
        for arm in run.arms:
            model, features = arm.model, arm.model.image_features
            model.image_features = lambda images, features=features: features(seen.append(images.clone()) or images)
        run.take_step()
    given = [arm.examples.at(0)[0] for run in (plain, changed) for arm in run.arms]
    assert all(torch.equal(seen[n], given[n].float() / 255) for n in (0, 1))
    augment = AUGMENTATIONS["moco_v2"].build({"strength": 0.5, "blur": 0.0}, channels=3)
    for number in (2, 3):
        assert torch.equal(seen[number], augment(given[number], seed=3, step=0, view=0))
        assert not torch.equal(seen[number], given[number].float() / 255)


def test_a_run_reads_the_commit_of_the_hub_that_it_began_with(tmp_path, photos, monkeypatch):
    asked = []

    def load(choice, tell):
        source, _, revision = choice.source.partition("@")
        asked.append(revision)
        return dataclasses.replace(load_chosen(SceneChoice(source=source), tell), revision=revision or "a" * 40)

    monkeypatch.setattr("trainers.kinds.finetuning.loop.load_chosen", load)
    folder = RunFolder.create(tmp_path, mend_config(photos))
    FinetuningLoop(folder)
    assert folder.revision == "a" * 40 and "at commit aaaa" in (folder.path / "log.txt").read_text()
    FinetuningLoop(RunFolder.open(tmp_path, folder.id))
    assert asked == ["", "a" * 40]
    assert images_of(folder).scenes.source == f"{photos}@{'a' * 40}", "and is searched among these"


# ------------------------------------------------- progress of several stages


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_stages_tell_the_whole_goes_forward(seed):
    rng, said = np.random.default_rng(seed), []
    weights = rng.uniform(0.1, 5, int(rng.integers(1, 6))).tolist()
    stages = Stages(lambda text, done: said.append((text, done)), weights)
    for number in range(len(weights)):
        tell = stages.next()
        for fraction in (*rng.uniform(0, 1, int(rng.integers(0, 5))), 1.0):
            tell(f"stage {number}", float(fraction))
        assert said[-1] == (f"stage {number}", pytest.approx(sum(weights[: number + 1]) / sum(weights)))
    fractions = [done for _, done in said]
    assert fractions == sorted(fractions) and fractions[0] >= 0 and fractions[-1] == pytest.approx(1)
    with pytest.raises(StopIteration):
        stages.next()


def test_setting_up_a_run_and_scoring_it_never_fall_back(tmp_path, photos):
    config = mend_config(photos, {"removed": False}, {}, {"fill": "mean"}, {"fill": "mean", "ratio": 0.1})
    said: list[tuple[str, float]] = []
    mender = FinetuningLoop(RunFolder.create(tmp_path, config), lambda *one: said.append(one))
    assert len({text for text, _ in said}) >= 4 and [done for _, done in said] == sorted(done for _, done in said)
    scored: list[float] = []
    mender.finish(lambda _, done: scored.append(done))
    assert scored == sorted(scored) and len(scored) >= 4 * 4
    mender.folder.db.close()
