"""The contextual loss on SOP: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe
from trainers.recipes.papers import contextual as paper
from trainers.recipes.papers import rank_losses

DESCRIPTOR = Recipe(
    name="sop_contextual",
    title="SOP: the contextual loss and its baselines",
    paper=paper.PAPER,
    sentence="A pretrained ResNet-50 by the contextual loss, two losses on pairs and one on proxies.",
    dataset=rank_losses.SOP,
    kind="metric_learning",
    settings=paper.settings(learning_rate=4e-05, sampler="two_super_classes"),
    arms=paper.ARMS,
    differs=paper.DIFFERS,
    order=302,
)
