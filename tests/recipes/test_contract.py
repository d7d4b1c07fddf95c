"""Every recipe: its settings have sources, its command is the same configuration, its figures stand in the paper."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shared import needs
from trainers.cli.main import whole_parser
from trainers.cli.start import configuration
from trainers.config import Config
from trainers.errors import ParameterError
from trainers.image_text.models import MODELS
from trainers.kinds import KINDS, check
from trainers.metrics.names import default_metrics, describe
from trainers.parameters import Choice
from trainers.plans import PLANS
from trainers.plans.base import plan_of
from trainers.recipes.catalogue import RECIPES, Figure, Recipe, read
from trainers.recipes.command import command
from trainers.recipes.printed import as_json

EVERY = list(RECIPES.values())
every = pytest.mark.parametrize("recipe", EVERY, ids=lambda recipe: recipe.name)
TEXTS = {
    "Ramzi et al. 2023": "rank_losses.txt",
    "Liao et al. 2023": "contextual_similarity.txt",
    "Kim et al. 2023": "spurious_correlations.txt",
    "He et al. 2020": "moco_and_supcon.txt",
    "Khosla et al. 2020": "moco_and_supcon.txt",
}


def parsed(written: str) -> Config:
    """The configuration that the command line makes of a command."""
    words = shlex.split(written)
    assert words[:3] == ["python", "-m", "trainers"]
    arguments = whole_parser().parse_args(words[3:])
    return configuration(arguments, KINDS[arguments.kind], PLANS[arguments.plan])


def at_hand(recipe: Recipe, folder: Path) -> str | None:
    """A source that may be opened: the recipe's own, or a folder in place of that which the user has."""
    return None if recipe.dataset.at_hand else str(folder)


@every
def test_every_setting_is_known_and_says_where_it_comes_from(recipe: Recipe) -> None:
    assert set(recipe.settings) <= set(recipe.known) and recipe.arms.value
    for setting in (*recipe.settings.values(), recipe.arms):
        assert len(setting.source) > 3 and not setting.source.endswith((".", ": "))
    for sentence in (recipe.sentence, recipe.dataset.layout, *recipe.differs):
        assert sentence.endswith(".") and len(sentence) < 250
    assert recipe.paper in TEXTS and as_json(recipe)["settings"]


@every
def test_it_is_a_valid_configuration(recipe: Recipe, tmp_path: Path) -> None:
    """All but the images, and the weights of image-text models, which no check finds here."""
    config = recipe.config(at_hand(recipe, tmp_path))
    if recipe.kind == "finetuning":
        assert MODELS[config.run.model.name].trainable  # type: ignore[attr-defined]
        arms = [one for one in recipe.of.listed(config.run) if "captioner" not in one]
        run = recipe.of.with_arms(config.run, arms).changed(model=Choice(name="tiny_clip"))
        config = dataclasses.replace(config, run=run)
    check(config)
    assert len(plan_of(config).plan(config, {})) == len(config.seeds) >= 3


@every
def test_its_command_is_read_as_the_same_configuration(recipe: Recipe) -> None:
    assert parsed(command(recipe)).to_json() == recipe.config().to_json()
    assert (
        parsed(command(recipe, "a folder/with 'quotes'")).to_json() == recipe.config("a folder/with 'quotes'").to_json()
    )
    varied = {"weight_decay": (0.0, 1e-7), "steps": (10, 20)}
    assert dict(parsed(command(recipe, vary=varied)).vary) == {"weight_decay": [0.0, 1e-7], "steps": [10, 20]}  # type: ignore[attr-defined]


@every
def test_its_figures_are_of_its_arms_and_metrics(recipe: Recipe) -> None:
    for figure in recipe.figures:
        assert figure.arm in recipe.arms.value and figure.where and figure.row and 0 < figure.value <= 100
        assert describe(figure.metric).measure.unit == "share"
        if recipe.kind == "metric_learning":
            run = recipe.config().run
            assert figure.metric in (*default_metrics(recipe.dataset.levels), *run.metrics)  # type: ignore[attr-defined]
    assert len({(figure.arm, figure.metric, figure.where) for figure in recipe.figures}) == len(recipe.figures)


def rows(recipe: Recipe) -> Iterator[list[Figure]]:
    """The figures of each row of each table, in the order of its columns."""
    for _, row in itertools.groupby(recipe.figures, key=lambda figure: (figure.arm, figure.where)):
        yield list(row)


@every
def test_its_figures_stand_in_the_paper_side_by_side(recipe: Recipe) -> None:
    text = needs(f"papers/{TEXTS[recipe.paper]}").read_text(encoding="utf-8").replace("79 4", "79.4")
    for row in rows(recipe):
        values = [f"{figure.value:.1f}" for figure in row]
        assert any(mark.join(values) in text for mark in (" | ", "")), (row[0].where, row[0].row, values)


def test_there_are_recipes_of_every_paper_and_set() -> None:
    assert {recipe.paper for recipe in EVERY} == set(TEXTS)
    names = "sop cub cars in_shop inat dyml_vehicle dyml_animal dyml_product h_gldv2 cifar100 imagenet coco flickr30k"
    assert all(any(name.startswith(start) for name in RECIPES) for start in names.split())


def test_recipes_agree_with_the_presets_of_their_kinds() -> None:
    contrastive, finetuning = KINDS["contrastive"], KINDS["finetuning"]
    assert RECIPES["imagenet_moco"].config().run == contrastive.configured({}, {"preset": "paper_moco_v1"})
    clip = RECIPES["coco_clip"].config().run
    paper = finetuning.configured({}, {"preset": "paper"})
    assert clip == paper.changed(model=clip.model, scenes=clip.scenes, learning_rate=2e-6)


FILE = """
order = 1
paper = "Somebody 2026"
kind = "metric_learning"
[texts]
head = "The head is another."
[datasets]
own = { title = "Own", source = "path/to/own", levels = 1, layout = "A folder with train and test." }
[shared.rates.settings]
"section 1" = { learning_rate = 0.1, data.image_size = 24 }
[recipes.first]
based_on = ["rates"]
title = "First"
sentence = "A first one."
dataset = "own"
source = "Table 1"
differs = ["head"]
settings."section 2" = { dim = 16, encoder = "conv4:width=8" }
[recipes.first.figures."Table 1"]
metrics = ["R_at_1", "AP"]
"smooth_ap:tau=0.1" = ["Smooth-AP", 50.1, 40.2]
"""


def read_file(folder: Path, text: str) -> Recipe:
    """The recipe of a file, with its values checked."""
    (folder / "paper.toml").write_text(text, encoding="utf-8")
    recipe = read(folder)["first"]
    recipe.values()
    return recipe


def test_a_recipe_is_a_table_of_a_file(tmp_path: Path) -> None:
    recipe = read_file(tmp_path, FILE)
    assert recipe.values() == {
        "data.source": "path/to/own",
        "data.image_size": 24,
        "losses": (Choice(name="smooth_ap", parameters={"tau": 0.1}),),
        "encoder": Choice(name="conv4", parameters={"width": 8}),
        "dim": 16,
        "learning_rate": 0.1,
    }
    assert recipe.settings["dim"].source == "section 2" and recipe.differs == ("The head is another.",)
    assert [(one.metric, one.value, one.row) for one in recipe.figures] == [
        ("R_at_1", 50.1, "Smooth-AP"),
        ("AP", 40.2, "Smooth-AP"),
    ]


@pytest.mark.parametrize(
    ("written", "wrong", "said"),
    [
        ("order = 1", "order = ", "Invalid value (at line 2"),
        ('title = "First"', "title = 1", "recipes.first.title: "),
        ('title = "First"', 'titel = "First"', "recipes.first.titel: Extra inputs are not permitted"),
        ("levels = 1, ", "", "datasets.own.levels: Field required"),
        ('title = "First"', "", "recipe first: title: it is not given."),
        ('kind = "metric_learning"', 'kind = "metric_lerning"', "kind: there is no 'metric_lerning'. Did you mean"),
        (
            'based_on = ["rates"]',
            'based_on = ["rate"]',
            "recipe first: based_on: there is no 'rate'. Did you mean 'rates'?",
        ),
        (
            "[shared.rates.",
            '[shared.rates]\nbased_on = ["rates"]\n[shared.rates.',
            "based_on: 'rates' is based on itself.",
        ),
        ('dataset = "own"', 'dataset = "ours"', "recipe first: dataset: there is no 'ours'."),
        ("dim = 16", "dims = 16", "recipe first: settings: there is no 'dims'. Did you mean 'dim'?"),
        ("dim = 16", 'dim = "16"', "recipe first: dim: First: dim needs a whole number"),
        ("smooth_ap:tau", "smooth_app:tau", "recipe first: losses: There is no loss 'smooth_app'"),
        (
            'source = "Table 1"',
            'source = "Table 1"\narms = ["supcon_out"]',
            "figures: Table 1: there is no 'smooth_ap:tau=0.1'.",
        ),
        (", 40.2]", "]", "figures: Table 1: smooth_ap:tau=0.1: a name and 2 numbers were needed."),
        (
            '"section 2" = { dim',
            '"section 3" = { dim = 8 }\nsettings."section 2" = { dim',
            "settings: dim is given twice.",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_recipe_and_key(
    written: str, wrong: str, said: str, tmp_path: Path
) -> None:
    assert FILE.count(written) == 1
    with pytest.raises(ParameterError) as raised:
        read_file(tmp_path, FILE.replace(written, wrong))
    assert str(raised.value).startswith("paper.toml: ") and said in str(raised.value)


def test_no_two_files_have_a_table_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(FILE, encoding="utf-8")
    with pytest.raises(ParameterError, match="texts: another file has 'head' already"):
        read_file(tmp_path, FILE)
