"""The recipes as tables: the list of them, the settings of one with their sources, the printed figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trainers.metrics.names import describe_any
from trainers.recipes.base import Recipe, Setting
from trainers.recipes.command import command, written
from trainers.recipes.figures import STAND_IN, Beside

HEAD = ("name", "title", "paper", "images", "figures")
DEFAULTS = "What is not listed has the program's default, which is ours."
NO_FIGURES = "Our text of the paper has no figures for it."


def rows(recipes: Iterable[Recipe]) -> list[Sequence[object]]:
    """List the recipes, one a row."""
    return [(recipe.name, recipe.title, recipe.paper, recipe.dataset.source, len(recipe.figures)) for recipe in recipes]


def settings_rows(recipe: Recipe) -> list[Sequence[object]]:
    """List every setting with its value as on the command line and its source."""
    given = [*recipe.settings.items(), (recipe.arms_setting, recipe.arms)]
    return [(name, text(setting), setting.source) for name, setting in given]


def figures_rows(recipe: Recipe) -> list[Sequence[object]]:
    """List the printed figures, one a row."""
    return [
        (figure.arm, figure.row, describe_any(figure.metric).title, f"{figure.value:.1f}", figure.where)
        for figure in recipe.figures
    ]


def beside_rows(numbers: Iterable[Beside], *, small: bool) -> list[Sequence[object]]:
    """List what the runs ended with beside what is printed."""
    return [
        (
            line.arm,
            line.metric,
            None if line.here is None else f"{line.here:.1f}",
            line.seeds or None,
            line.figure and f"{line.figure.value:.1f}",
            line.figure and f"{line.figure.where}: {line.figure.row}",
            STAND_IN if small and line.figure and line.here is not None else None,
        )
        for line in numbers
    ]


BESIDE_HEAD = ("arm", "metric", "here", "seeds", "printed", "where", "note")


def text(setting: Setting) -> str:
    """Write a value as the command line does."""
    value = setting.value
    return " ".join(written(value if isinstance(value, (tuple, list)) else (value,)))


def as_json(recipe: Recipe, data: str | None = None) -> dict[str, Any]:
    """Describe a recipe as plain values.

    Args:
        data: in place of the source of its images.
    """
    return {
        "name": recipe.name,
        "title": recipe.title,
        "paper": recipe.paper,
        "sentence": recipe.sentence,
        "kind": recipe.kind,
        "dataset": {
            "title": recipe.dataset.title,
            "source": recipe.dataset.source,
            "layout": recipe.dataset.layout,
            "levels": recipe.dataset.levels,
        },
        "settings": [{"name": name, "value": value, "source": said} for name, value, said in settings_rows(recipe)],
        "figures": [
            {
                "arm": figure.arm,
                "metric": figure.metric,
                "value": figure.value,
                "where": figure.where,
                "row": figure.row,
            }
            for figure in recipe.figures
        ],
        "differs": list(recipe.differs),
        "command": command(recipe, data),
    }


def markdown(recipes: Iterable[Recipe]) -> str:
    """Write the table of the documentation."""
    head = ("recipe", "what it is", "paper", "images", "printed figures")
    lines: list[Sequence[str]] = [head, ["---"] * len(head)]
    for recipe in recipes:
        tables = "; ".join(dict.fromkeys(figure.where for figure in recipe.figures)) or "none in our text"
        lines.append(
            (
                f"`{recipe.name}`",
                recipe.title,
                recipe.paper,
                f"{recipe.dataset.title} (`{recipe.dataset.source}`)",
                tables,
            )
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
