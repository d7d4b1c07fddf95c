"""Recipes, presets and settings of a mending run: what is refused, and with which words."""

from __future__ import annotations

import argparse
import dataclasses
import sys

import pytest

from tests.image_text.blip import write_blip
from trainers.cli.start import add_start_flags, configuration
from trainers.config import MAX_ARMS, RunConfig, SceneChoice
from trainers.errors import ParameterError, UserError
from trainers.kinds import check
from trainers.kinds.finetuning import DESCRIPTOR as KIND
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.recipes import PRESETS, recipe, title, titles
from trainers.parameters import Choice
from trainers.runs.identity import read_config

CONFIG = FinetuningConfig(model=Choice(name="tiny_clip", parameters={"fresh": True}), steps=5)


def changed(**changes: object) -> RunConfig:
    return dataclasses.replace(CONFIG, **changes)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_can_be_run_and_names_its_arms_apart(preset):
    recipes = [recipe(values) for values in preset.settings["recipes"]]
    assert 1 <= len(recipes) <= MAX_ARMS
    names = titles(recipes)
    assert len(set(names)) == len(names)
    check(changed(recipes=[values for values in preset.settings["recipes"] if values.get("text") != "captioner"]))


def test_table_3_has_the_captioners_row_and_says_what_it_needs(tmp_path, monkeypatch):
    (preset,) = (one for one in PRESETS if one.name == "table3_texts")
    assert titles([recipe(values) for values in preset.settings["recipes"]]) == [
        "D",
        "D + D′ (captioner, telea, 0.08)",
        "D + D′ (prompts, telea, 0.08)",
        "D + D′ (phrases, telea, 0.08)",
    ]
    with pytest.raises(ParameterError, match=r"captioner, telea.*HF_HUB_OFFLINE.*`captioner`, as a folder or a Hub id"):
        check(changed(recipes=preset.settings["recipes"]))
    command = argparse.ArgumentParser()
    add_start_flags(command, KIND)
    folder = write_blip(tmp_path / "blip", "BlipForConditionalGeneration")
    given = command.parse_args(["--preset", "table3_texts", "--captioner", str(folder)])
    recipes = configuration(given, KIND).recipes
    assert [values.get("captioner", "") for values in recipes] == ["", str(folder), "", ""]
    check(changed(recipes=recipes))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ParameterError, match="pip install transformers"):
        check(changed(recipes=recipes))


def test_titles_are_the_papers_words():
    assert title(recipe({})) == "D + D′ (phrases, telea, 0.08)"
    assert title(recipe({"removed": False})) == "D"
    assert title(recipe({"originals": "none", "text": "prompts", "fill": "zero"})) == "D′ (prompts, zero, 0.08)"
    assert title(recipe({"ratio": 0.2})) == "D + D′ (phrases, telea, 0.2)"
    assert title(recipe({"ratio": None})) == "D + D′ (phrases, telea, all)"
    assert titles([recipe({}), recipe({})]) == ["D + D′ (phrases, telea, 0.08) #1", "D + D′ (phrases, telea, 0.08) #2"]


def test_the_default_is_the_papers_share_of_pairs():
    assert recipe({}).ratio == pytest.approx(45_467 / (113_287 * 5), abs=5e-4)
    figure = next(preset for preset in PRESETS if preset.name == "figure4")
    ratios = [recipe(values).ratio for values in figure.settings["recipes"]]
    assert ratios == sorted(ratios) and ratios[0] < 0.08 < 0.1 < ratios[-1] == 0.4  # both sides of the paper's knee


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"recipes": ()}, f"one to {MAX_ARMS} recipes; got 0"),
        ({"recipes": ({},) * (MAX_ARMS + 1)}, f"one to {MAX_ARMS} recipes; got {MAX_ARMS + 1}"),
        ({"recipes": ({"originals": "none", "removed": False},)}, "originals, object-removed ones or both"),
        ({"recipes": ({"fill": "magic"},)}, "no fill 'magic'"),
        ({"recipes": ({"ratio": 0.0},)}, "from 0.01 to 1"),
        ({"recipes": ({"text": "captioner"},)}, "folder or Hub id in `captioner`"),
        ({"recipes": ({"txt": "prompts"},)}, "no parameter 'txt'"),
        ({"model": Choice(name="nobody")}, "no model 'nobody'"),
        ({"model": Choice(name="tiny_clip", parameters={"weights": "nowhere"})}, "no weights"),
        ({"batch": 4}, "batch needs a whole number from 8"),
        ({"queries": 1}, "queries needs a whole number from 10"),
        ({"scenes": SceneChoice(source=" ")}, "a folder or a Hub id"),
        ({"scenes": SceneChoice(source="drawn_scenes:bias=3")}, "bias needs"),
    ],
)
def test_what_is_refused_before_anything_is_loaded(changes, words):
    with pytest.raises(UserError, match=words):
        check(changed(**changes))


def test_a_configuration_survives_its_file():
    config = changed(recipes=({}, {"removed": False}), scenes=SceneChoice(source="drawn_scenes:bias=0.8"))
    assert read_config(config.to_json()) == config
    assert config.arms == 2
