"""HAPPIER on DyML-Animal: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, table
from trainers.recipes.papers import dyml as paper

_ARMS = paper.arms("weight_rank=0.5,weight_proxy=0.5")

DESCRIPTOR = Recipe(
    name="dyml_animal",
    title="DyML-Animal: HAPPIER and other losses over three levels",
    paper=paper.PAPER,
    sentence="HAPPIER on a set of dynamic metric learning, whose numbers are means over its levels.",
    dataset=paper.dataset("DyML-Animal"),
    kind="metric_learning",
    settings=paper.settings(learning_rate=0.1),
    arms=paper.sourced(_ARMS),
    figures=table(
        "Table VIII, DyML-Animal",
        paper.COLUMNS,
        {
            _ARMS[0]: ("Smooth-AP", 37.7, 45.4, 63.6),
            _ARMS[1]: ("ROADMAP", 34.4, 42.6, 62.8),
            _ARMS[2]: ("NSM", 38.8, 48.4, 69.6),
            _ARMS[3]: ("NSM over levels", 42.6, 50.6, 70.0),
            _ARMS[4]: ("CSL", 40.8, 46.3, 60.9),
            _ARMS[5]: ("HAPPIER", 43.8, 50.8, 68.9),
        },
    ),
    differs=paper.DIFFERS,
    order=221,
)
