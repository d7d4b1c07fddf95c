"""What the card of a claim has of recipes: the command at full size, with the arms that it compares, and figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from trainers.parameters import entry
from trainers.recipes.catalogue import RECIPES, Recipe
from trainers.recipes.command import command

_FIGURE = re.compile(r"\{([^{}]+)\}")


def full_size(name: str, *arms: str, vary: Mapping[str, Sequence[Any]] | None = None, **settings: Any) -> str:
    """Write the command of a recipe.

    Args:
        name: of the recipe.
        arms: in place of its own, as on the command line; a bare name stands for the one arm of the recipe with that
            name, and its parameters. None: its own.
        vary: values of settings that the sweep goes through besides.
        settings: in place of its own.
    """
    recipe = entry(RECIPES, name, "recipe")
    chosen = [_own(recipe, arm) for arm in arms]
    return command(recipe.changed(chosen, **settings) if arms or settings else recipe, vary=vary)


def printed(sentence: str) -> str:
    """Fill in what the paper printed: ``{recipe/metric/row}`` is the figure of a recipe as it names the metric and the
    row, ``{recipe/metric/row/row}`` two of them, joined by *and*.

    Raises:
        ValueError: a recipe has no such figure, or more than one.
    """
    return _FIGURE.sub(_figures, sentence)


def _figures(found: re.Match[str]) -> str:
    name, metric, *rows = found[1].split("/")
    recipe = entry(RECIPES, name, "recipe")
    figures = [[each.value for each in recipe.figures if (each.metric, each.row) == (metric, row)] for row in rows]
    if any(len(values) != 1 for values in figures):
        raise ValueError(f"{found[0]} is not one figure of the recipe {name} a row")
    return " and ".join(f"{values[0]:.1f}" for values in figures)


def _own(recipe: Recipe, arm: str) -> str:
    alike = [written for written in recipe.arms.value if written.partition(":")[0] == arm]
    return alike[0] if len(alike) == 1 else arm
