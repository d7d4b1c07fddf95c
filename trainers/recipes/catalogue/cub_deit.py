"""ROADMAP with DeiT-S on CUB: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.bound("roadmap", preset="sop")

DESCRIPTOR = Recipe(
    name="cub_deit",
    title="CUB: ROADMAP, DeiT-S",
    paper=paper.PAPER,
    sentence="ROADMAP with a small vision transformer.",
    dataset=paper.CUB,
    kind="metric_learning",
    settings=paper.with_memory(paper.ON_CUB, paper.DEIT, 5824, paper.RECALL_CUB),
    arms=stated(_ARMS, f"Table IV; {paper.BOUND}"),
    figures=table("Table IV, CUB, DeiT-S", paper.RECALL_CUB, {_ARMS[0]: ("ROADMAP (ours)", 77.6, 86.2, 91.6, 95.0)}),
    differs=(paper.WARM_UP, paper.LATEST, paper.SPECIES),
    order=207,
)
