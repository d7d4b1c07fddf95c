"""ROADMAP with DeiT-S on SOP: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.bound("roadmap", preset="sop")

DESCRIPTOR = Recipe(
    name="sop_deit",
    title="SOP: ROADMAP, DeiT-S",
    paper=paper.PAPER,
    sentence="ROADMAP with a small vision transformer.",
    dataset=paper.SOP,
    kind="metric_learning",
    settings=paper.with_memory(paper.ON_SOP, paper.DEIT, 59_551, paper.RECALL_SOP),
    arms=stated(_ARMS, f"Table IV; {paper.BOUND}"),
    figures=table("Table IV, SOP, DeiT-S", paper.RECALL_SOP, {_ARMS[0]: ("ROADMAP (ours)", 85.2, 94.5, 97.9)}),
    differs=(paper.WARM_UP, paper.PAIRS, paper.LATEST),
    order=204,
)
