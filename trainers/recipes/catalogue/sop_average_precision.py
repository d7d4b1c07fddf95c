"""Losses on average precision on SOP: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = ("smooth_ap", *paper.bound("sup_ap", "roadmap:terms=table_ii_pairs", "roadmap", preset="sop"))

DESCRIPTOR = Recipe(
    name="sop_average_precision",
    title="SOP: Smooth-AP, Sup-AP, ROADMAP",
    paper=paper.PAPER,
    sentence="The ablation of ROADMAP: the bound, then the decomposability term, by pairs and by proxies.",
    dataset=paper.SOP,
    kind="metric_learning",
    settings=paper.with_resnet(paper.ON_SOP),
    arms=stated(_ARMS, "Table II; the bound is the published code's for SOP"),
    figures=table(
        "Table II, SOP",
        ("R_at_1", "AP_at_R"),
        {
            _ARMS[0]: ("Smooth-AP", 80.9, 54.3),
            _ARMS[1]: ("Sup-AP", 81.2, 54.8),
            _ARMS[2]: ("ROADMAP with pairs", 81.7, 55.7),
            _ARMS[3]: ("ROADMAP with proxies", 81.9, 55.7),
        },
    ),
    differs=(paper.WARM_UP, paper.PAIRS),
    order=200,
)
