"""ROADMAP on CUB: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, ours, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.bound("roadmap", preset="sop")

DESCRIPTOR = Recipe(
    name="cub_roadmap",
    title="CUB: ROADMAP, ResNet-50",
    paper=paper.PAPER,
    sentence="ROADMAP with a memory of the whole training set, on larger images.",
    dataset=paper.CUB,
    kind="metric_learning",
    settings={
        **paper.with_memory(paper.ON_CUB, paper.GEM, 5824, paper.RECALL_CUB),
        "data.image_size": ours(256, "larger than on SOP, as section VII-B says; our text has lost the number"),
    },
    arms=stated(_ARMS, f"Table IV; {paper.BOUND}"),
    figures=table("Table IV, CUB, ResNet-50", paper.RECALL_CUB, {_ARMS[0]: ("ROADMAP (ours)", 69.4, 79.4, 87.2, 92.1)}),
    differs=(paper.WARM_UP, paper.LATEST, paper.SPECIES),
    order=206,
)
