"""The form of contrastive pretraining: what it asks for, presets, what comes back, refusals and the preview."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from explorer.page import forms
from explorer.page.kinds.contrastive import IMAGES, PREVIEWED, config_of, held, restored, views
from explorer.page.views_preview import drawn_views
from tests.explorer.test_remembered import JSON
from trainers.config import MAX_ARMS, Conditions, DataChoice
from trainers.data import inspect_data, peek_data
from trainers.errors import DataError, ParameterError, UserError
from trainers.kinds import KINDS, check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.methods import METHODS
from trainers.kinds.contrastive.views import preview
from trainers.metrics.asked import MOST
from trainers.parameters import Choice

KIND = KINDS["contrastive"]
FIRST = held(ContrastiveConfig())


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    """A folder of images without classes."""
    folder = tmp_path / "loose"
    folder.mkdir()
    draws = np.random.default_rng(0)
    for number in range(12):
        Image.fromarray(draws.integers(0, 255, (40, 50, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


def test_the_untouched_form_asks_for_the_default_run() -> None:
    config = config_of(FIRST)
    assert config == ContrastiveConfig()
    assert config.data.held_out == "images"


@pytest.mark.parametrize("preset", [preset.name for preset in KIND.presets()])
def test_a_preset_goes_through_the_form_unchanged(preset: str) -> None:
    wanted = KIND.configured({}, {"preset": preset})
    found = config_of(held(wanted))
    settled = [[(one.name, METHODS[one.name].checked(one.parameters)) for one in c.methods] for c in (wanted, found)]
    assert settled[0] == settled[1]
    assert dataclasses.replace(found, methods=wanted.methods) == wanted


def filled(preset: str, looks_at: tuple[str, ...] = ("source", "image_size", "max_images")) -> dict[str, Any]:
    form = forms.KindForm(fields={}, config=config_of, held=held, restored=restored, looks_at=looks_at)
    return forms.filled(KIND, form, preset)


def test_a_preset_keeps_images_and_budget_unless_it_has_its_own() -> None:
    values = filled("stages")
    assert not {"source", "image_size", "minutes", "steps"} & set(values)
    assert (values["method_2"], values["augmentation"], values["seed"]) == ("cross_entropy", "moco_v2", 0)
    assert values["augmentation_parameters"] == '{"moco_v2": {"blur": 0.0}}'
    paper = filled("paper_moco_v1")
    assert (paper["image_size"], paper["epochs"], paper["minutes"]) == ("224", "200", "")
    assert paper["source"] == "ILSVRC/imagenet-1k"
    assert filled("")["augmentation"] == "moco_v2", "the defaults undo a preset"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict.fromkeys([f"method_{slot}" for slot in range(MAX_ARMS)]), f"one to {MAX_ARMS} methods; got 0"),
        ({"method_1": "nope"}, "There is no method 'nope'; choose from"),
        ({"method_0_parameters": '{"moco_v2": {"momentum": 2}}'}, "momentum needs a number from 0 to 1; got 2"),
        ({"augmentation": "huge"}, "There is no augmentation 'huge'"),
        ({"head_augmentation": "huge"}, "There is no augmentation 'huge'"),
        ({"learning_rate": 101}, "learning_rate needs a number from 1e-07 to 100; got 101"),
        ({"encoder": "timm_frozen"}, "Choose an encoder that is trained whole"),
        ({"batch": 1}, "batch needs a whole number from 2 to 8192; got 1"),
        ({"minutes": "", "steps": ""}, "needs a budget"),
        ({"drops": "0.5, late"}, "drops needs"),
        ({"source": " "}, "A run needs images"),
        ({"image_size": "big"}, "image_size needs a whole number"),
        ({"metrics": ["R@10"]}, "no metric 'R@10'"),
        ({"metrics": [f"R_at_{k}" for k in range(2, MOST + 3)]}, f"at most {MOST} metrics beside its own"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        config_of(FIRST | changes)


def test_too_many_methods_are_refused_wherever_they_come_from() -> None:
    with pytest.raises(ParameterError, match=f"one to {MAX_ARMS} methods; got {MAX_ARMS + 1}"):
        check(ContrastiveConfig(methods=(Choice(name="simclr"),) * (MAX_ARMS + 1)))


GOOD = {
    "source": "owner/name",
    "image_size": "48",
    "method_0": "supcon",
    "method_0_parameters": '{"supcon": {"temperature": 0.2}}',
    "method_2": "moco_v1",
    "augmentation": "simclr",
    "augmentation_parameters": '{"simclr": {"blur": 0.0}}',
    "encoder_parameters": '{"conv4": {"width": 8}}',
    "schedule": '"step"',
    "head_augmentation": "light",
    "head_augmentation_parameters": '{"light": {"strength": 0.5}}',
    "optimiser": '"lars"',
    "learning_rate": 4.8,
    "minutes": "",
    "epochs": "2",
    "head_steps": 0,
    "metrics": ["R_at_8", "AP_at_5_level1"],
    "label_noise": 0.4,
    "withheld_images": 0.25,
}


def test_what_was_chosen_comes_back() -> None:
    values = restored(GOOD)
    assert {name: value for name, value in values.items() if value != FIRST[name]} == GOOD
    config = config_of(values)
    assert [method.name for method in config.methods] == ["supcon", "simclr", "moco_v1"]
    assert (config.epochs, config.minutes, config.head_steps, config.data.image_size) == (2, None, 0, 48)
    assert dict(config.augmentation.parameters) == {"blur": 0.0}
    assert config.head_augmentation == Choice(name="light", parameters={"strength": 0.5})
    assert (config.optimiser, config.learning_rate) == ("lars", 4.8)
    assert tuple(config.metrics) == ("R_at_8", "AP_at_5_level1")
    assert config.data.conditions == Conditions(label_noise=0.4, withheld_images=0.25)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([*FIRST, "more"]), JSON, max_size=8))
def test_whatever_comes_the_form_can_show_it_and_start_it(values: dict[str, Any]) -> None:
    found = restored(values)
    assert list(found) == list(FIRST)
    config_of(found)


def test_images_without_classes_are_no_problem_for_this_kind(loose: Path) -> None:
    report = inspect_data(DataChoice(source=str(loose), held_out="images"))
    assert (report.problems, report.unlabelled) == ((), True)
    said = str(IMAGES.look_again(*(IMAGES.defaults() | {"source": str(loose)}).values())[0])
    assert "the images have no classes" in said and "SupCon" in said and "need classes, as do hard conditions" in said
    assert "alert" not in said


def test_the_preview_is_what_the_run_sees(loose: Path) -> None:
    data = DataChoice(source=str(loose), held_out="images", image_size=24)
    config = ContrastiveConfig(data=data, augmentation=Choice(name="none"))
    made, images = preview(config, 4), peek_data(data, 4)
    assert made.shape == (4, 2, 3, 24, 24)
    assert torch.equal((made[:, 0] * 255).round().byte(), images)
    changed = preview(dataclasses.replace(config, augmentation=Choice(name="simclr")), 4)
    assert not torch.equal(changed[:, 0], changed[:, 1])


def test_the_preview_follows_the_form() -> None:
    changes = {"augmentation": "moco_v1", "image_size": "32", "minutes": "-3"}  # the budget is another matter
    made, sentence = views(FIRST | changes)
    assert made.shape == (PREVIEWED, 2, 3, 32, 32)
    assert sentence == "MoCo v1 on Drawn world, 32 pixels: two views of each image."
    page = drawn_views(made, "<b>")
    assert len(re.findall(r'src="data:image/webp;base64,', page)) == 2 * PREVIEWED and "<b>" not in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"image_size": "8"}, "image size from 16 to 256; got 8"),
        ({"source": "/nowhere/at/all"}, "/nowhere/at/all"),
        ({"augmentation_parameters": '{"moco_v2": {"blur": 7}}'}, "blur needs a number from 0 to 1; got 7"),
    ],
)
def test_a_preview_that_cannot_be_made_says_why(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        views(FIRST | changes)


def test_images_that_cannot_be_decoded_are_no_preview(tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.png").write_bytes(b"no image")
    with pytest.raises(DataError, match="None of 3 images in column 'image' could be decoded"):
        peek_data(DataChoice(source=str(folder), held_out="images"), 6)
