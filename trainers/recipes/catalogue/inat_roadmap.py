"""ROADMAP with a memory on iNaturalist: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.bound("roadmap", preset="inat")

DESCRIPTOR = Recipe(
    name="inat_roadmap",
    title="iNaturalist: ROADMAP, ResNet-50 with a memory",
    paper=paper.PAPER,
    sentence="ROADMAP with a memory of 60,000 embeddings.",
    dataset=paper.INAT_BASE,
    kind="metric_learning",
    settings=paper.with_memory(paper.ON_INAT, paper.GEM, 60_000, paper.RECALL_INAT),
    arms=stated(_ARMS, f"Table IV; {paper.BOUND}"),
    figures=table(
        "Table IV, iNaturalist, ResNet-50", paper.RECALL_INAT, {_ARMS[0]: ("ROADMAP (ours)", 73.1, 85.7, 92.7, 94.8)}
    ),
    differs=(paper.WARM_UP,),
    order=214,
)
