"""HAPPIER on DyML-Product: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, table
from trainers.recipes.papers import dyml as paper

_ARMS = paper.arms()

DESCRIPTOR = Recipe(
    name="dyml_product",
    title="DyML-Product: HAPPIER and other losses over three levels",
    paper=paper.PAPER,
    sentence="HAPPIER on a set of dynamic metric learning, whose numbers are means over its levels.",
    dataset=paper.dataset("DyML-Product"),
    kind="metric_learning",
    settings=paper.settings(learning_rate=0.01),
    arms=paper.sourced(_ARMS),
    figures=table(
        "Table VIII, DyML-Product",
        paper.COLUMNS,
        {
            _ARMS[0]: ("Smooth-AP", 36.1, 45.5, 55.0),
            _ARMS[1]: ("ROADMAP", 34.6, 44.6, 62.5),
            _ARMS[2]: ("NSM", 35.6, 46.0, 57.4),
            _ARMS[3]: ("NSM over levels", 36.8, 46.9, 60.8),
            _ARMS[4]: ("CSL", 31.1, 40.7, 52.7),
            _ARMS[5]: ("HAPPIER", 38.0, 47.9, 63.7),
        },
    ),
    differs=paper.DIFFERS,
    order=222,
)
