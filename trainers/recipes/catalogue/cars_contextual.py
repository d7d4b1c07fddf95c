"""The contextual loss on Cars: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Dataset, Recipe
from trainers.recipes.papers import contextual as paper

DESCRIPTOR = Recipe(
    name="cars_contextual",
    title="Cars: the contextual loss and its baselines",
    paper=paper.PAPER,
    sentence="A pretrained ResNet-50 by the contextual loss, two losses on pairs and one on proxies.",
    dataset=Dataset(
        title="Stanford Cars",
        source="path/to/cars",
        layout="The folder as it is handed out, with cars_annos.mat or the development kit, or one with "
        "train/MODEL/*.jpg and test/MODEL/*.jpg, 196 models, none in both. The catalogue's stanford_cars is the "
        "training half of the images alone.",
        levels=1,
    ),
    kind="metric_learning",
    settings=paper.settings(learning_rate=1.6e-4),
    arms=paper.ARMS,
    differs=paper.DIFFERS,
    order=301,
)
