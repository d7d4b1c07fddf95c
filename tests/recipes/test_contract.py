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
from trainers.data import load_data
from trainers.errors import ParameterError
from trainers.image_text.models import MODELS
from trainers.kinds import KINDS, check
from trainers.metrics.names import describe
from trainers.parameters import Choice, flat
from trainers.plans import PLANS
from trainers.plans.base import plan_of
from trainers.recipes.base import Figure, Recipe, ours, stated
from trainers.recipes.catalogue import RECIPES
from trainers.recipes.command import command
from trainers.recipes.small import SEEDS, small
from trainers.recipes.stand_in import stand_in
from trainers.recipes.tables import as_json

EVERY = list(RECIPES.values())
every = pytest.mark.parametrize("recipe", EVERY, ids=lambda recipe: recipe.name)
TEXTS = {
    "Ramzi et al. 2023": "rank_losses.txt",
    "Liao et al. 2023": "contextual_similarity.txt",
    "Kim et al. 2023": "spurious_correlations.txt",
    "He et al. 2020": "moco_and_supcon.txt",
    "Khosla et al. 2020": "moco_and_supcon.txt",
}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the images of the stand-ins are written, once."""
    return tmp_path_factory.mktemp("stand_in")


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
    known = dict(flat(recipe.of.config))
    assert set(recipe.settings) <= set(known) and recipe.arms.value
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


@every
def test_its_small_scale_is_valid_and_says_what_was_scaled(recipe: Recipe, images: Path) -> None:
    made = small(recipe, images)
    check(made.config)
    assert made.config.seeds == SEEDS and made.config.run.arms == len(made.arms) <= len(recipe.arms.value)
    assert made.config.run.epochs is None and made.config.run.steps
    changed = {line.partition(":")[0] for line in made.scaled}
    assert {"steps", "seeds"} <= changed and changed & {"encoder", "model"}
    for name in ("sampler", "augmentation", "optimiser", "schedule", "images_per_class", "norm"):
        assert getattr(made.config.run, name, None) == getattr(recipe.config().run, name, None)


@pytest.mark.parametrize("levels", range(1, 8))
def test_the_stand_in_has_as_many_levels(levels: int, images: Path) -> None:
    run = RECIPES["cub_contextual"].config().run
    source = stand_in(levels, images)
    data = load_data(dataclasses.replace(run.data, source=source, image_size=32, max_images=960))  # type: ignore[attr-defined]
    assert data.hierarchy.depth == levels and len(data.train.images) == 960
    labels = data.train.labels.numpy()
    sizes = [len(set(labels[:, level].tolist())) for level in range(levels)]
    assert sizes == sorted(set(sizes), reverse=True) and sizes[0] == 96
    assert not {*labels[:, 0].tolist()} & {*data.test.labels[:, 0].tolist()}


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


def test_a_setting_that_is_unknown_is_refused_by_the_contract() -> None:
    """The checks above are not idle: a wrong arm or an unknown setting does not pass them."""
    recipe = RECIPES["sop_hierarchy"]
    wrong = dataclasses.replace(recipe, arms=stated(("no_such_loss",), "Table 0"))
    with pytest.raises(ParameterError, match="no_such_loss"):
        check(wrong.config())
    with pytest.raises((KeyError, ValueError)):
        dataclasses.replace(recipe, settings={"no_such_setting": ours(1)}).config()
