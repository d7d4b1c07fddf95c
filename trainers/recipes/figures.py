"""What a recipe's runs ended with, beside what the paper printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from trainers.comparison import Cell
from trainers.kinds import kind_of
from trainers.metrics.names import describe_any
from trainers.plans.children import Children
from trainers.plans.config import sweep_of
from trainers.plans.report import levels_among, results_of
from trainers.recipes.base import Figure, Recipe
from trainers.runs import RunFolder

STAND_IN = "stand-in, not comparable"
"""How numbers of the small scale are labelled."""


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A number of the user's and the paper's; of either there may be none.

    Attributes:
        here: mean over the seeds, in per cent.
        seeds: that it is over.
    """

    arm: str
    metric: str
    here: float | None
    seeds: int
    figure: Figure | None


def beside(recipe: Recipe, arms: Sequence[str], plan: RunFolder) -> list[Beside]:
    """List every printed figure with the number of the runs, then the headline numbers that the paper does not have.

    Args:
        arms: those of the recipe that the plan trained, in its order.
    """
    config = sweep_of(plan.config)
    children = Children(plan).all()
    cells, levels = results_of(plan, children), levels_among(plan, children)
    kind = kind_of(config.run)
    titles = {arm: view.title for arm, view in zip(arms, kind.arms(config.run), strict=True)}
    rows = [_row(titles.get(figure.arm, ""), figure.metric, cells, levels, figure) for figure in recipe.figures]
    printed = {(figure.arm, figure.metric) for figure in recipe.figures}
    headline = [key.removeprefix("test/") for key in kind.headline(config.run)]
    for arm, title in titles.items():
        rows += [_row(title, key, cells, levels, None) for key in headline if (arm, key) not in printed]
    return rows


def _row(arm: str, metric: str, cells: Sequence[Cell], levels: tuple[str, ...], figure: Figure | None) -> Beside:
    values = [value for cell in cells if cell.variant == arm and (value := cell.value(metric)) is not None]
    described = describe_any(metric, levels)
    scale = 100 if described.measure.unit == "share" else 1
    return Beside(
        arm=arm or (figure.row if figure else ""),
        metric=described.title,
        here=scale * fmean(values) if values else None,
        seeds=len(values),
        figure=figure,
    )
