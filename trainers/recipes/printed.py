"""What is printed of recipes: the list, settings with their sources, figures, and a run's numbers beside these."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from statistics import fmean
from typing import Any

from trainers.comparison import Cell
from trainers.config import RunConfig
from trainers.kinds import kind_of
from trainers.metrics.names import describe_any
from trainers.parameters import Choice, Spec, flat
from trainers.plans.children import Children
from trainers.plans.config import SweepConfig, sweep_of
from trainers.plans.report import levels_among, results_of
from trainers.recipes.catalogue import Figure, Recipe
from trainers.recipes.command import command, written
from trainers.runs import RunFolder

HEAD = ("name", "title", "paper", "images", "figures")
BESIDE_HEAD = ("arm", "metric", "here", "seeds", "printed", "where")
DEFAULTS = "What is not listed has the program's default, which is ours."
NO_FIGURES = "Our text of the paper has no figures for it."
_NO_MATTER = ("seed", "snapshot_steps", "channels_last", "checkpointing", "compiled", "device", "threads", "processes")
"""Settings that change a number by rounding at most; a plan has seeds of its own."""


def rows(recipes: Iterable[Recipe]) -> list[Sequence[object]]:
    """List the recipes, one a row."""
    return [(recipe.name, recipe.title, recipe.paper, recipe.dataset.source, len(recipe.figures)) for recipe in recipes]


def settings_rows(recipe: Recipe) -> list[Sequence[object]]:
    """List every setting with its value as on the command line and its source."""
    given = [*recipe.settings.items(), (recipe.arms_setting, recipe.arms)]
    return [(name, in_words(setting.value), setting.source) for name, setting in given]


def figures_rows(recipe: Recipe) -> list[Sequence[object]]:
    """List the printed figures, one a row."""
    return [
        (figure.arm, figure.row, describe_any(figure.metric).title, f"{figure.value:.1f}", figure.where)
        for figure in recipe.figures
    ]


def as_json(recipe: Recipe, data: str | None = None) -> dict[str, Any]:
    """Describe a recipe as plain values.

    Args:
        data: in place of the source of its images.
    """
    texts = {name: getattr(recipe, name) for name in ("name", "title", "paper", "sentence", "kind")}
    return texts | {
        "dataset": dataclasses.asdict(recipe.dataset),
        "settings": [{"name": name, "value": value, "source": said} for name, value, said in settings_rows(recipe)],
        "figures": [dataclasses.asdict(figure) for figure in recipe.figures],
        "differs": list(recipe.differs),
        "command": command(recipe, data),
    }


def beside_rows(recipe: Recipe, plan: RunFolder) -> list[Sequence[object]]:
    """List every printed figure with the mean of the runs, then the headline numbers that the paper does not have.

    Args:
        plan: of the arms of the recipe, in its order.
    """
    config = sweep_of(plan.config)
    children = Children(plan).all()
    cells, levels = results_of(plan, children), levels_among(plan, children)
    kind = kind_of(config.run)
    titles = {arm: view.title for arm, view in zip(recipe.arms.value, kind.arms(config.run), strict=True)}
    lines = [_beside(titles[figure.arm], figure.metric, cells, levels, figure) for figure in recipe.figures]
    printed = {(figure.arm, figure.metric) for figure in recipe.figures}
    headline = [key.removeprefix("test/") for key in kind.headline(config.run)]
    for arm, title in titles.items():
        lines += [_beside(title, key, cells, levels, None) for key in headline if (arm, key) not in printed]
    return lines


def _beside(
    title: str, metric: str, cells: Sequence[Cell], levels: tuple[str, ...], figure: Figure | None
) -> Sequence[object]:
    values = [value for cell in cells if cell.variant == title and (value := cell.value(metric)) is not None]
    described = describe_any(metric, levels)
    here = (100 if described.measure.unit == "share" else 1) * fmean(values) if values else None
    printed = (f"{figure.value:.1f}", f"{figure.where}: {figure.row}") if figure else (None, None)
    return (title, described.title, None if here is None else f"{here:.1f}", len(values) or None, *printed)


def differences(recipe: Recipe, config: SweepConfig) -> list[str]:
    """List what a run has otherwise than the recipe; of images that the user has, which they are.

    Args:
        config: of a plan of runs of the recipe's kind, with as many arms.
    """
    source = (getattr(config.run, "data", None) or getattr(config.run, "scenes")).source  # noqa: B009 - of either kind
    wanted = recipe.config(None if recipe.dataset.at_hand else source)
    said = [] if recipe.dataset.at_hand else [f"images: {source}, not checked to be {recipe.dataset.title}"]
    said += _differing(wanted.run, config.run)
    if wanted.seeds != config.seeds:
        said.append(f"seeds: {in_words(wanted.seeds)} → {in_words(config.seeds)}")
    if wanted.kind != config.kind:
        said.append(f"plan: {wanted.kind} → {config.kind}".replace("_", " "))
    return said


def _differing(wanted: RunConfig, run: RunConfig) -> Iterator[str]:
    """Yield ``NAME: WANTED → OWN`` for every setting that differs, of several entries for each that does."""
    for name, spec in flat(type(run)):
        before, after = map(attrgetter(name), (wanted, run))
        if name in _NO_MATTER or _effective(spec, before) == _effective(spec, after):
            continue
        if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
            pairs = zip(before, after, strict=True)
            before, after = zip(*(pair for pair in pairs if _one(spec, pair[0]) != _one(spec, pair[1])), strict=True)
        yield f"{name}: {in_words(before)} → {in_words(after)}"


def in_words(value: Any) -> str:
    """Write the value of a setting as the command line does."""
    return " ".join(written(value if isinstance(value, (tuple, list)) else (value,))) or "none"


def _effective(spec: Spec, value: Any) -> Any:
    return [_one(spec, item) for item in value] if isinstance(value, (tuple, list)) else _one(spec, value)


def _one(spec: Spec, value: Any) -> Any:
    """Return what a value stands for: parameters of an entry that are not given have their defaults."""
    if not isinstance(value, Choice):
        return value
    return value.name, spec.rule.entries()[value.name].checked(value.parameters)
