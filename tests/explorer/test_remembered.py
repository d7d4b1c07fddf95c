"""What comes back from a browser's storage is checked value by value; what cannot be used is its default again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.page import remembered
from explorer.page.kinds.metric_learning import config_of, defaults
from explorer.page.kinds.metric_learning import restored as restored_values
from explorer.page.remembered import LONGEST, VERSION, keeping
from trainers.config import MAX_ARMS
from trainers.data import access
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.config import MetricLearningConfig


def kept(**values: Any) -> str:
    return json.dumps({"version": VERSION, "values": values})


def restored(text: object) -> dict[str, Any]:
    return restored_values(remembered.kept(text))


def changed(text: object) -> dict[str, Any]:
    first = defaults()
    return {name: value for name, value in restored(text).items() if value != first[name]}


def test_the_untouched_sidebar_asks_for_the_default_run() -> None:
    assert config_of(defaults()) == MetricLearningConfig()


GOOD = {
    "source": "owner/name",
    "subset": "small",
    "image_column": "photo",
    "label_columns": ["fine", "coarse"],
    "train_split": "train",
    "test_split": "test",
    "max_images": 5000,
    "loss_0": "supcon",
    "loss_0_parameters": '{"supcon": {"temperature": 0.2}}',
    "loss_2": "contextual",
    "encoder": "timm_frozen",
    "encoder_parameters": '{"timm_frozen": {"pretrained": false, "hidden": 256}}',
    "sampler": "two_super_classes",
    "augmentation": "none",
    "minutes": "1.5",
    "steps": "200",
    "weight_decay": 0,
    "learning_rate": 1e-05,
    "clip_norm": "2",
    "seed": 7,
    "label_noise": 0.4,
    "noise_kind": "within",
    "withheld_classes": 0.25,
    "withheld_images": 0.5,
}


def test_what_was_chosen_comes_back() -> None:
    assert changed(kept(**GOOD)) == GOOD
    config = config_of(restored(kept(**GOOD)))
    assert [loss.name for loss in config.losses] == ["supcon", "happier", "contextual"]
    assert (config.weight_decay, config.learning_rate, config.steps, config.seed) == (0, 1e-05, 200, 7)
    assert dict(config.encoder.parameters) == {"hidden": 256, "pretrained": False}


def test_a_removed_loss_stays_removed_and_filled_slots_come_first() -> None:
    values = restored(kept(loss_0=None))
    assert [values[f"loss_{slot}"] for slot in range(MAX_ARMS)] == ["happier", *[None] * (MAX_ARMS - 1)]
    assert restored(kept(loss_0=None, loss_1=None)) == defaults()


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        7,
        "{",
        "[]",
        "null",
        '{"version": 1}',
        '{"version": 1, "values": []}',
        '{"version": 0, "values": {"seed": 7}}',
        '{"values": {"seed": 7}}',
        "[" * 5000,
        kept(seed=7) + " " * LONGEST,
    ],
)
def test_a_text_of_another_kind_is_forgotten(text: object) -> None:
    assert restored(text) == defaults()


@pytest.mark.parametrize(
    "value",
    [
        {"loss_0": "of_another_version"},
        {"loss_0": ["supcon"]},
        {"loss_0_parameters": '{"smooth_ap": {"tau": 99}}'},
        {"loss_0_parameters": '{"smooth_ap": {"heat": 1}, "unknown": {"tau": 0.1}}'},
        {"loss_0_parameters": "[" * 5000},
        {"encoder": "huge"},
        {"encoder": 3},
        {"encoder_parameters": '{"timm": {"model": 5}}'},
        {"sampler": "fair"},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": True},
        {"seed": "7; drop"},
        {"weight_decay": 2},
        {"weight_decay": float("nan")},
        {"learning_rate": float("inf")},
        {"learning_rate": 10**400},
        {"minutes": "soon"},
        {"minutes": ""},
        {"minutes": "1e999"},
        {"max_images": 3},
        {"max_images": "many"},
        {"source": ""},
        {"source": "../secret"},
        {"source": "x" * 400},
        {"source": "/nowhere/at/all"},
        {"source": "owner/name\0"},
        {"source": "<img src=x onerror=alert(1)>"},
        {"source": "owner/name\ud800"},
        {"subset": "\udfff"},
        {"label_columns": ["fine", "\ud800"]},
        {"encoder_parameters": json.dumps({"timm": {"model": "\ud800"}})},
        {"subset": "../.."},
        {"label_columns": "fine"},
        {"label_columns": ["fine"] * 9},
        {"label_columns": [["fine"]]},
        {"unknown": 1},
    ],
)
def test_a_value_that_cannot_be_used_is_its_default_and_takes_no_other_along(value: dict[str, Any]) -> None:
    assert changed(kept(dim=128, **value)) == {"dim": 128}


def test_corrections_go_with_the_images_they_were_made_for() -> None:
    assert changed(kept(source="/nowhere/at/all", image_column="photo", label_columns=["fine"], subset="a")) == {}


def test_a_folder_comes_back_only_where_folders_may_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = kept(source=str(tmp_path))
    assert changed(text) == {"source": str(tmp_path)}
    monkeypatch.setenv(access.PUBLIC, "1")
    assert changed(text) == {}
    monkeypatch.setenv(access.FOLDERS, str(tmp_path))
    assert changed(text) == {"source": str(tmp_path)}


def test_an_encoder_that_is_not_installed_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(kept(encoder="timm")) == {"encoder": "timm"}
    monkeypatch.setattr("trainers.encoders.timm_models.find_spec", lambda name: None)
    assert changed(kept(encoder="timm")) == {}
    assert ENCODERS["timm"].lacking() == "This encoder needs the timm library: pip install timm"
    assert ENCODERS["small_conv"].lacking() is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from([*defaults(), "more"]), JSON, max_size=8))
def test_whatever_comes_the_sidebar_can_show_it_and_start_it(values: dict[str, Any]) -> None:
    found = restored(json.dumps({"version": VERSION, "values": values}))
    assert list(found) == list(defaults())
    config_of(found)


def test_nothing_is_kept_before_it_was_restored_and_defaults_never() -> None:
    script = keeping(defaults())
    assert "rankscopeRestored" in script and json.dumps(defaults()) in script


def test_steps_alone_are_a_budget() -> None:
    assert changed(kept(minutes="", steps="40")) == {"minutes": "", "steps": "40"}
