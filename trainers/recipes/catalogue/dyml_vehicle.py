"""HAPPIER on DyML-Vehicle: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, table
from trainers.recipes.papers import dyml as paper

_ARMS = paper.arms()

DESCRIPTOR = Recipe(
    name="dyml_vehicle",
    title="DyML-Vehicle: HAPPIER and other losses over three levels",
    paper=paper.PAPER,
    sentence="HAPPIER on a set of dynamic metric learning, whose numbers are means over its levels.",
    dataset=paper.dataset("DyML-Vehicle"),
    kind="metric_learning",
    settings=paper.settings(learning_rate=0.1),
    arms=paper.sourced(_ARMS),
    figures=table(
        "Table VIII, DyML-Vehicle",
        paper.COLUMNS,
        {
            _ARMS[0]: ("Smooth-AP", 27.1, 39.5, 83.8),
            _ARMS[1]: ("ROADMAP", 27.1, 39.6, 84.5),
            _ARMS[2]: ("NSM", 27.7, 40.3, 88.7),
            _ARMS[3]: ("NSM over levels", 32.0, 45.7, 89.4),
            _ARMS[4]: ("CSL", 30.0, 43.6, 87.1),
            _ARMS[5]: ("HAPPIER", 37.0, 49.8, 89.1),
        },
    ),
    differs=paper.DIFFERS,
    order=220,
)
