"""ROADMAP with ViT-B on SOP: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.bound("roadmap", preset="sop")

DESCRIPTOR = Recipe(
    name="sop_vit",
    title="SOP: ROADMAP, ViT-B",
    paper=paper.PAPER,
    sentence="ROADMAP with a vision transformer trained on ImageNet-21k.",
    dataset=paper.SOP,
    kind="metric_learning",
    settings=paper.with_memory(paper.ON_SOP, paper.VIT, 59_551, paper.RECALL_SOP),
    arms=stated(_ARMS, f"Table IV; {paper.BOUND}"),
    figures=table("Table IV, SOP, ViT-B", paper.RECALL_SOP, {_ARMS[0]: ("ROADMAP (ours)", 88.4, 96.4, 98.7)}),
    differs=(paper.WARM_UP, paper.PAIRS, paper.LATEST),
    order=205,
)
