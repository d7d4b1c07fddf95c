"""The contextual loss on CUB: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe
from trainers.recipes.papers import contextual as paper
from trainers.recipes.papers import rank_losses

DESCRIPTOR = Recipe(
    name="cub_contextual",
    title="CUB: the contextual loss and its baselines",
    paper=paper.PAPER,
    sentence="A pretrained ResNet-50 by the contextual loss, two losses on pairs and one on proxies.",
    dataset=rank_losses.CUB,
    kind="metric_learning",
    settings=paper.settings(learning_rate=8e-05),
    arms=paper.ARMS,
    differs=(*paper.DIFFERS, paper.HALVES),
    order=300,
)
