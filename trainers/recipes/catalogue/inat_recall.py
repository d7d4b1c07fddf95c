"""Losses on recall at k on iNaturalist: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = ("smooth_recall", *paper.bound("sup_recall", "rod_recall:terms=table_ii_pairs", "rod_recall", preset="inat"))

DESCRIPTOR = Recipe(
    name="inat_recall",
    title="iNaturalist: Smooth-R@k, Sup-R@k, ROD-R@k",
    paper=paper.PAPER,
    sentence="The same ablation of the loss on recall at k.",
    dataset=paper.INAT_BASE,
    kind="metric_learning",
    settings=paper.with_resnet(paper.ON_INAT),
    arms=stated(_ARMS, "Table II; the bound is the published code's for iNaturalist"),
    figures=table(
        "Table II, iNaturalist",
        ("R_at_1", "AP_at_R"),
        {
            _ARMS[0]: ("Smooth-R@k", 66.4, 25.5),
            _ARMS[1]: ("Sup-R@k", 68.2, 26.4),
            _ARMS[2]: ("ROD-R@k with pairs", 69.3, 27.0),
            _ARMS[3]: ("ROD-R@k with proxies", 71.9, 29.8),
        },
    ),
    differs=(paper.WARM_UP,),
    order=211,
)
