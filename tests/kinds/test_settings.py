"""Settings of every kind of run: presets, what is refused before anything is loaded, and the encoder of own images."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from explorer.page.kinds.metric_learning import configuration
from trainers.config import MAX_ARMS, DataChoice, SceneChoice
from trainers.encoders import ENCODERS, published
from trainers.errors import DataError, UserError
from trainers.kinds import KINDS, check
from trainers.kinds.base import Kind, Preset
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.footprint import needs_of
from trainers.kinds.contrastive.presets import PRESETS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice
from trainers.training.stage import Stage

DRAWN = 96 * 20 + 80 * 16  # training images of the drawn pots where a few of each pot are held out
CONTRASTIVE = {preset.name: ContrastiveConfig(**preset.settings) for preset in PRESETS}

# -------------------------------------------------------------------- presets


@pytest.mark.parametrize(
    ("kind", "preset"),
    [
        pytest.param(kind, preset, id=f"{kind.name}-{preset.name}")
        for kind in KINDS.values()
        for preset in kind.presets()
    ],
)
def test_every_preset_can_be_run_and_names_its_arms_apart(kind: Kind[Any], preset: Preset) -> None:
    config = kind.config(**preset.settings)
    titles = [arm.title for arm in kind.arms(config)]
    assert 1 <= len(set(titles)) == len(titles) <= MAX_ARMS
    if isinstance(config, FinetuningConfig):  # a captioner has to be named
        here = tuple(values for values in config.recipes if values.get("text") != "captioner")
        config = dataclasses.replace(config, recipes=here)
    check(config)


@pytest.mark.parametrize("config", CONTRASTIVE.values(), ids=CONTRASTIVE)
def test_no_dictionary_is_larger_than_the_dataset(config: ContrastiveConfig) -> None:
    images = DRAWN if config.data.source == "drawn" else config.data.max_images
    assert all(needs_of(choice).compared <= images for choice in config.methods)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        # SimCLR, appendix B.9: on CIFAR half the strength and no blur
        ("batch_simclr", {"augmentation": Choice(name="simclr", parameters={"strength": 0.5, "blur": 0.0})}),
        ("supervised", {"optimiser": "adamw", "learning_rate": 0.003, "norm": "batch"}),  # leaves SupCon's plateau
        ("paper_moco_v1", {"batch": 256, "dim": 128, "momentum": 0.9, "weight_decay": 1e-4, "optimiser": "sgd"}),
        ("paper_moco_v1", {"norm": "split", "splits": 8, "minutes": None, "head_learning_rate": 30}),
        ("paper_moco_v1", {"head_augmentation": Choice(name="crop_flip", parameters={"smallest": 0.08})}),
    ],
)
def test_what_is_called_a_papers_is_the_papers(name: str, settings: dict[str, object]) -> None:
    assert {key: getattr(CONTRASTIVE[name], key) for key in settings} == settings


def test_moco_v1_is_trained_as_long_as_in_its_paper() -> None:
    """Sections 3.3 and 4.1: 200 epochs, rate 0.03, a tenth at 120 and 160; its notebook has 0.06 at a batch of 512."""
    config = CONTRASTIVE["paper_moco_v1"]
    epoch = config.data.max_images // config.batch
    stage = Stage.of(config).in_steps(epoch)
    assert stage.steps == 200 * epoch and config.head_steps == 100 * epoch
    factors = [stage.factor(at * epoch, stage.progress(at * epoch, 0.0), epoch) for at in (0, 119, 120, 159, 160, 199)]
    assert [config.learning_rate * one for one in factors] == pytest.approx([0.03, 0.03, 0.003, 0.003, 0.0003, 0.0003])
    default = ContrastiveConfig()
    assert default.learning_rate == pytest.approx(0.06 * default.batch / 512)


# ------------------------------------------------------------ what is refused

SUPCON = {size: (Choice(name="supcon", parameters={"batch": size}),) for size in (512, 1, 0, 2.5)}
TOWERS = Choice(name="two_towers", parameters={"encoder": "conv4:width=8", "dim": 16})
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("contrastive", {"learning_rate": 101.0}, "learning_rate needs a number from 1e-07 to 100; got 101"),
    ("contrastive", {"encoder": Choice(name="timm_frozen", parameters={"pretrained": False})}, "such as conv4"),
    ("contrastive", {"methods": SUPCON[512]}, "SupCon: batch 512 is larger than the batch of the run, 256"),
    *(("contrastive", {"methods": SUPCON[size]}, "batch needs a whole number from 2") for size in (1, 0, 2.5)),
    ("finetuning", {"epochs": -1.0}, "epochs needs a number above 0"),
    ("finetuning", {"halve_every": 0.0}, "halve_every needs a number above 0"),
    ("finetuning", {"optimiser": "magic"}, "optimiser needs one of adamw, adam, sgd, lars, rmsprop; got 'magic'"),
    ("finetuning", {"model": TOWERS, "start": "../elsewhere"}, "A run to start from is written as its id"),
    ("finetuning", {"recipes": ()}, f"one to {MAX_ARMS} recipes; got 0"),
    ("finetuning", {"recipes": ({},) * (MAX_ARMS + 1)}, f"one to {MAX_ARMS} recipes; got {MAX_ARMS + 1}"),
    ("finetuning", {"recipes": ({"originals": "none", "removed": False},)}, "originals, object-removed ones or both"),
    ("finetuning", {"recipes": ({"fill": "magic"},)}, "no fill 'magic'"),
    ("finetuning", {"recipes": ({"ratio": 0.0},)}, "from 0.01 to 1"),
    ("finetuning", {"recipes": ({"text": "captioner"},)}, "folder or Hub id in `captioner`"),
    ("finetuning", {"recipes": ({"txt": "prompts"},)}, "no parameter 'txt'"),
    ("finetuning", {"model": Choice(name="nobody")}, "no model 'nobody'"),
    ("finetuning", {"model": Choice(name="tiny_clip", parameters={"weights": "nowhere"})}, "no weights"),
    ("finetuning", {"batch": 4}, "batch needs a whole number from 8"),
    ("finetuning", {"queries": 1}, "queries needs a whole number from 10"),
    ("finetuning", {"scenes": SceneChoice(source=" ")}, "a folder or a Hub id"),
    ("finetuning", {"scenes": SceneChoice(source="drawn_scenes:bias=3")}, "bias needs"),
    *(
        (kind, {"data": DataChoice(source=source)}, "nope|no such thing|a/b/c")
        for kind in ("metric_learning", "contrastive")
        for source in ("/nope", "./nope", "no such thing", "a/b/c")
    ),
]


@pytest.mark.parametrize(("kind", "changes", "words"), REFUSED)
def test_what_is_refused_before_the_run_is_queued(kind: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        check(KINDS[kind].config(**changes))
    if "data" in changes:
        with pytest.raises(DataError):
            configuration(["supcon"], changes["data"].source)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("contrastive", {"optimiser": "lars", "learning_rate": 0.3 * 4096 / 256, "batch": 4096}),  # SimCLR's
        ("contrastive", {"methods": SUPCON[512], "batch": 512}),
        ("finetuning", {"model": TOWERS, "start": f"{'0' * 26}:3"}),
    ],
)
def test_what_is_accepted(kind: str, changes: dict[str, Any]) -> None:
    check(KINDS[kind].config(**changes))


# ------------------------------------------------- the encoder of own images

KNOWN = published.AtHand(model="test_vit", side=48, read=40, where="are on this machine")
TRAIN = KINDS["metric_learning"]
OWN = {"data": DataChoice(source="/somewhere/own")}


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainers.encoders.published.at_hand", lambda *_device: KNOWN)


@pytest.mark.usefixtures("there")
def test_own_images_begin_with_it_at_its_rate() -> None:
    config, rate = TRAIN.configured(dict(OWN)), ENCODERS["timm_frozen"].learning_rate
    assert (config.encoder, config.learning_rate, config.data.image_size) == (KNOWN.frozen, rate, 40)
    assert (config.minutes, config.steps) == (3.0, 200)
    asked = TRAIN.configured({**OWN, "minutes": 1.0})
    assert (asked.encoder, asked.minutes, asked.steps) == (KNOWN.frozen, 1.0, None)
    assert TRAIN.begins_with(config.data)[0]["encoder"] == KNOWN.frozen
    assert TRAIN.configured({"data": DataChoice(source="groceries")}).encoder == KNOWN.frozen
    first = {"encoder": Choice(name="conv4"), "learning_rate": 0.004, "data.image_size": None}
    first["steps"] = None
    assert TRAIN.begins_with(DataChoice(source="drawn")) == (first, "")
    views = TRAIN.configured({**OWN, "losses": (Choice(name="simclr"),)})
    assert (views.encoder, views.learning_rate) == (KNOWN.trained, ENCODERS["timm"].learning_rate)
    assert any("SimCLR compares views of an image" in sentence for sentence in TRAIN.advice(views))
    assert TRAIN.configured({**OWN, "losses": (Choice(name="supcon_out"),)}).encoder == KNOWN.frozen  # it has labels
    assert TRAIN.configured({"encoder": Choice(name="timm_frozen")}).learning_rate == rate
    assert TRAIN.configured({**OWN, "learning_rate": 0.02}).learning_rate == 0.02


@pytest.mark.parametrize(
    "given",
    [
        {"data": DataChoice(source="drawn")},
        {**OWN, "encoder": Choice(name="conv4")},
        {**OWN, "augmentation": Choice(name="randaugment")},
        {**OWN, "start": "0" * 26},
    ],
    ids=["drawn", "encoder", "augmentation", "start"],
)
@pytest.mark.usefixtures("there")
def test_what_is_said_stays(given: dict[str, Any]) -> None:
    assert TRAIN.configured(given).encoder == given.get("encoder", Choice(name="conv4"))
