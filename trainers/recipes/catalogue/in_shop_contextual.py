"""The contextual loss on In-Shop: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Dataset, Recipe
from trainers.recipes.papers import contextual as paper

DESCRIPTOR = Recipe(
    name="in_shop_contextual",
    title="In-Shop: the contextual loss and its baselines",
    paper=paper.PAPER,
    sentence="A pretrained ResNet-50 by the contextual loss, two losses on pairs and one on proxies.",
    dataset=Dataset(
        title="DeepFashion In-Shop",
        source="in_shop",
        layout="The Hub's Marqo/deepfashion-inshop, whose columns are read as a tree; its commit is pinned when a run "
        "is made.",
        levels=4,
    ),
    kind="metric_learning",
    settings=paper.settings(learning_rate=4e-5),
    arms=paper.ARMS,
    differs=(
        *paper.DIFFERS,
        paper.HALVES,
        "In-Shop has queries and a gallery; the Hub's set does not say which is which, and here every test image is "
        "searched for among the others. The folder as it is handed out (list_eval_partition.txt) has both.",
    ),
    order=303,
)
