"""What the card of a claim has of recipes: the command at full size, with the arms that it compares, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.recipes.base import Recipe
from trainers.recipes.catalogue import RECIPES
from trainers.recipes.command import PROGRAM, command

BLIP = f"{PROGRAM} score --data path/to/coco --model blip"
"""BLIP cannot be fine-tuned here: this measures it as it is."""


def full_size(name: str, *arms: str, vary: Mapping[str, Sequence[Any]] | None = None, **settings: Any) -> str:
    """Write the command of a recipe.

    Args:
        name: of the recipe.
        arms: in place of its own, as on the command line; a bare name stands for the one arm of the recipe with that
            name, and its parameters. None: its own.
        vary: values of settings that the sweep goes through besides.
        settings: in place of its own.
    """
    recipe = RECIPES[name]
    chosen = [_own(recipe, arm) for arm in arms]
    return command(recipe.changed(chosen, **settings) if arms or settings else recipe, vary=vary)


def printed(sentence: str, *figures: tuple[str, ...]) -> str:
    """Fill in what the paper printed.

    Args:
        sentence: with ``{}`` for each of ``figures``.
        figures: name of a recipe, key of a metric, and the rows whose figures are joined by *and*, as the recipe names
            them.

    Raises:
        ValueError: a recipe has no such figure, or more than one.
    """
    return sentence.format(
        *(" and ".join(_figure(recipe, metric, row) for row in rows) for recipe, metric, *rows in figures)
    )


def _figure(recipe: str, metric: str, row: str) -> str:
    (value,) = (figure.value for figure in RECIPES[recipe].figures if (figure.metric, figure.row) == (metric, row))
    return f"{value:.1f}"


def _own(recipe: Recipe, arm: str) -> str:
    alike = [written for written in recipe.arms.value if written.partition(":")[0] == arm]
    return alike[0] if len(alike) == 1 else arm
