"""The contextual loss on iNaturalist: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe
from trainers.recipes.papers import contextual as paper
from trainers.recipes.papers import rank_losses

DESCRIPTOR = Recipe(
    name="inat_contextual",
    title="iNaturalist: the contextual loss and its baselines",
    paper=paper.PAPER,
    sentence="A pretrained ResNet-50 by the contextual loss, two losses on pairs and one on proxies.",
    dataset=rank_losses.INAT_BASE,
    kind="metric_learning",
    settings=paper.settings(learning_rate=8e-05, classes=64, sampler="two_super_classes"),
    arms=paper.ARMS,
    differs=paper.DIFFERS,
    order=304,
)
