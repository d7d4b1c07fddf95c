"""Losses on average precision on iNaturalist: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = ("smooth_ap", *paper.bound("sup_ap", "roadmap:terms=table_ii_pairs", "roadmap", preset="inat"))

DESCRIPTOR = Recipe(
    name="inat_average_precision",
    title="iNaturalist: Smooth-AP, Sup-AP, ROADMAP",
    paper=paper.PAPER,
    sentence="The ablation of ROADMAP: the bound, then the decomposability term, by pairs and by proxies.",
    dataset=paper.INAT_BASE,
    kind="metric_learning",
    settings=paper.with_resnet(paper.ON_INAT),
    arms=stated(_ARMS, "Table II; the bound is the published code's for iNaturalist"),
    figures=table(
        "Table II, iNaturalist",
        ("R_at_1", "AP_at_R"),
        {
            _ARMS[0]: ("Smooth-AP", 67.3, 26.5),
            _ARMS[1]: ("Sup-AP", 68.9, 27.5),
            _ARMS[2]: ("ROADMAP with pairs", 69.1, 27.6),
            _ARMS[3]: ("ROADMAP with proxies", 71.8, 29.5),
        },
    ),
    differs=(paper.WARM_UP,),
    order=210,
)
