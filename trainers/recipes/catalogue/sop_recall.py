"""Losses on recall at k on SOP: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = ("smooth_recall", *paper.bound("sup_recall", "rod_recall:terms=table_ii_pairs", "rod_recall", preset="sop"))

DESCRIPTOR = Recipe(
    name="sop_recall",
    title="SOP: Smooth-R@k, Sup-R@k, ROD-R@k",
    paper=paper.PAPER,
    sentence="The same ablation of the loss on recall at k.",
    dataset=paper.SOP,
    kind="metric_learning",
    settings=paper.with_resnet(paper.ON_SOP),
    arms=stated(_ARMS, "Table II; the bound is the published code's for SOP"),
    figures=table(
        "Table II, SOP",
        ("R_at_1", "AP_at_R"),
        {
            _ARMS[0]: ("Smooth-R@k", 80.5, 53.7),
            _ARMS[1]: ("Sup-R@k", 80.7, 54.2),
            _ARMS[2]: ("ROD-R@k with pairs", 82.4, 56.6),
            _ARMS[3]: ("ROD-R@k with proxies", 81.9, 55.8),
        },
    ),
    differs=(paper.WARM_UP, paper.PAIRS),
    order=201,
)
