"""The papers' comparisons can be started, and what is called a paper's is the paper's."""

from __future__ import annotations

import dataclasses

import pytest

from trainers.config import DataChoice
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.base import Preset
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.footprint import footprint, needs_of
from trainers.kinds.contrastive.kind import Contrastive
from trainers.kinds.contrastive.methods import METHODS
from trainers.kinds.contrastive.networks import Projected, projector
from trainers.kinds.contrastive.presets import PRESETS
from trainers.parameters import Choice, specs
from trainers.training.augmentations import AUGMENTATIONS
from trainers.training.footprint import COPIES, Shape
from trainers.training.stage import Stage

DRAWN = 96 * 20 + 80 * 16  # training images of the drawn pots where a few of each pot are held out


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_no_dictionary_is_larger_than_the_dataset(preset: Preset) -> None:
    config = ContrastiveConfig(**preset.settings)
    Contrastive().check(config)
    images = DRAWN if config.data.source == "drawn" else config.data.max_images
    assert all(needs_of(choice).compared <= images for choice in config.methods)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_presets_of_labelled_methods_change_images_as_supcons_code_does_on_cifar(preset: Preset) -> None:
    config = ContrastiveConfig(**preset.settings)
    if not any(METHODS[choice.name].labels for choice in config.methods):
        return
    found = AUGMENTATIONS[config.augmentation.name].checked(dict(config.augmentation.parameters))
    assert config.augmentation.name == "moco_v2"
    assert (found.blur, found.strength, found.grey, found.smallest) == (0.0, 1.0, 0.2, 0.2)


def test_small_images_are_not_blurred_where_the_papers_do_not() -> None:
    """SimCLR, appendix B.9: on CIFAR half the strength and no blur."""
    (preset,) = (preset for preset in PRESETS if preset.name == "batch_simclr")
    assert dict(preset.settings["augmentation"].parameters) == {"strength": 0.5, "blur": 0.0}


def test_supcon_beside_its_baselines_trains_on_what_it_leaves_its_plateau_with() -> None:
    (preset,) = (preset for preset in PRESETS if preset.name == "supervised")
    config = ContrastiveConfig(**preset.settings)
    assert (config.optimiser, config.learning_rate, config.norm) == ("adamw", 0.003, "batch")
    views = {choice.name: METHODS[choice.name].needs(None, 0).views for choice in config.methods}
    assert views == {"supcon": 2, "cross_entropy": 1, "max_margin": 1} and "two views" in preset.sentence


def test_the_rate_is_that_of_mocos_notebook_at_its_batch() -> None:
    """0.06 at a batch of 512; by the linear rule as much as MoCo's paper has at 256."""
    config = ContrastiveConfig()
    assert config.learning_rate == pytest.approx(0.06 * config.batch / 512) == pytest.approx(0.03)


def test_the_rate_of_simclr_is_accepted_and_one_beyond_every_paper_is_not() -> None:
    check(ContrastiveConfig(optimiser="lars", learning_rate=0.3 * 4096 / 256, batch=4096))
    with pytest.raises(ParameterError, match="learning_rate needs a number from 1e-07 to 100; got 101"):
        check(ContrastiveConfig(optimiser="lars", learning_rate=101.0))
    (rate,) = (spec.rule for spec in specs(ContrastiveConfig) if spec.name == "learning_rate")
    assert rate.slider is not None and rate.slider[1] > 4.8


def test_moco_v1_as_in_its_paper() -> None:
    """Sections 3.3 and 4.1: 200 epochs of batches of 256, rate 0.03, a tenth at 120 and 160; no limit of time."""
    (preset,) = (preset for preset in PRESETS if preset.name == "paper_moco_v1")
    config = ContrastiveConfig(**preset.settings)
    epoch = config.data.max_images // config.batch
    stage = Stage.of(config).in_steps(epoch)
    assert config.minutes is None and stage.steps == 200 * epoch
    rates = [
        config.learning_rate * stage.factor(at * epoch, stage.progress(at * epoch, 0.0), epoch)
        for at in (0, 119, 120, 159, 160, 199)
    ]
    assert rates == pytest.approx([0.03, 0.03, 0.003, 0.003, 0.0003, 0.0003])
    assert (config.batch, config.dim, config.momentum, config.weight_decay) == (256, 128, 0.9, 1e-4)
    assert (config.norm, config.splits, config.optimiser) == ("split", 8, "sgd")
    assert config.head_learning_rate == 30 and config.head_steps == 100 * epoch


def test_a_memory_bank_holds_all_images() -> None:
    shape = Shape(images=500_000, channels=3, side=32, classes=10)
    config = ContrastiveConfig(
        methods=(Choice(name="memory_bank", parameters={"negatives": 16}),), data=DataChoice(held_out="images")
    )
    more = footprint(dataclasses.replace(config, dim=256), shape).memories - footprint(config, shape).memories
    assert more >= 500_000 * 128 * 4


def test_views_that_are_the_same_image_are_told_where_methods_compare_views() -> None:
    def said(method: str, augmentation: str) -> list[str]:
        config = ContrastiveConfig(methods=(Choice(name=method),), augmentation=Choice(name=augmentation))
        return [sentence for sentence in Contrastive().advice(config) if "Without augmentation" in sentence]

    assert said("simclr", "none") and said("memory_bank", "none")
    assert not said("simclr", "moco_v2") and not said("supcon", "none") and not said("cross_entropy", "none")


def test_normalisation_that_a_start_does_not_give_is_told() -> None:
    def said(**settings: object) -> list[str]:
        return [
            sentence for sentence in Contrastive().advice(ContrastiveConfig(**settings)) if "begins anew" in sentence
        ]  # type: ignore[arg-type]

    assert said(start="A" * 26, norm="group") and not said(start="A" * 26) and not said(norm="group")


def test_the_head_is_as_wide_as_the_features() -> None:
    """Counted in a network as it is trained; images, activations and evaluation are not in it."""
    net = ENCODERS["conv4"].build(channels=3, side=64, dim=128, parameters={})
    own = Projected(net, projector(net.without_head(), 128, mlp=True))
    weights = sum(weight.numel() for weight in own.parameters())
    shape = Shape(images=1000, channels=3, side=64, classes=10)
    bytes_needed = footprint(ContrastiveConfig(methods=(Choice(name="simclr"),)), shape)
    assert 4 * COPIES * weights <= bytes_needed.encoders <= 2 * 4 * COPIES * weights
    followed = footprint(ContrastiveConfig(methods=(Choice(name="moco_v2", parameters={"queue": 64}),)), shape)
    assert followed.encoders - bytes_needed.encoders >= 2 * 4 * weights
