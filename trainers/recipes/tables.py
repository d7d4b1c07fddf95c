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
    return [(one.name, one.title, one.paper, one.dataset.source, len(one.figures)) for one in recipes]


def settings_rows(recipe: Recipe) -> list[Sequence[object]]:
    """List every setting with its value as on the command line and its source."""
    given = [*recipe.settings.items(), (recipe.arms_setting, recipe.arms)]
    return [(name, text(setting), setting.source) for name, setting in given]


def figures_rows(recipe: Recipe) -> list[Sequence[object]]:
    """List the printed figures, one a row."""
    return [(one.arm, one.row, describe_any(one.metric).title, f"{one.value:.1f}", one.where) for one in recipe.figures]


def beside_rows(numbers: Iterable[Beside], *, small: bool) -> list[Sequence[object]]:
    """List what the runs ended with beside what is printed."""
    return [
        (
            one.arm,
            one.metric,
            None if one.own is None else f"{one.own:.1f}",
            one.seeds or None,
            one.figure and f"{one.figure.value:.1f}",
            one.figure and f"{one.figure.where}: {one.figure.row}",
            STAND_IN if small and one.figure and one.own is not None else None,
        )
        for one in numbers
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
            {"arm": one.arm, "metric": one.metric, "value": one.value, "where": one.where, "row": one.row}
            for one in recipe.figures
        ],
        "differs": list(recipe.differs),
        "command": command(recipe, data),
    }


def markdown(recipes: Iterable[Recipe]) -> str:
    """Write the table of the documentation."""
    head = ("recipe", "what it is", "paper", "images", "printed figures")
    lines: list[Sequence[str]] = [head, ["---"] * len(head)]
    for one in recipes:
        tables = "; ".join(dict.fromkeys(figure.where for figure in one.figures)) or "none in our text"
        lines.append((f"`{one.name}`", one.title, one.paper, f"{one.dataset.title} (`{one.dataset.source}`)", tables))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
