"""HAPPIER on SOP: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.hierarchical("sop", alpha=5)
_SMOOTH_AP, _NSM, _CSL, _NDCG, _HAPPIER, _FINE = _ARMS

DESCRIPTOR = Recipe(
    name="sop_hierarchy",
    title="SOP: HAPPIER and other losses over two levels",
    paper=paper.PAPER,
    sentence="HAPPIER, HAPPIER-F and ROD-NDCG beside losses on the finest labels and CSL.",
    dataset=paper.SOP,
    kind="metric_learning",
    settings=paper.with_resnet(paper.ON_SOP),
    arms=stated(_ARMS, f"Table V and section VII-C (alpha of HAPPIER-F is 5); {paper.BOUND}"),
    figures=(
        *table(
            "Table V, SOP",
            paper.HIERARCHY,
            {
                _SMOOTH_AP: ("Smooth-AP", 80.9, 60.8, 42.9, 20.6, 78.2),
                _NSM: ("NSM", 81.3, 61.3, 42.8, 21.1, 78.3),
                _CSL: ("CSL", 79.4, 58.0, 52.8, 57.9, 88.1),
                _NDCG: ("ROD-NDCG", 80.5, 59.6, 58.3, 65.0, 91.1),
                _HAPPIER: ("HAPPIER", 81.0, 60.4, 59.4, 65.9, 91.5),
                _FINE: ("HAPPIER-F", 81.8, 62.2, 52.0, 45.9, 86.5),
            },
        ),
        *table(
            "Table IX, SOP",
            ("AP_level1",),
            {
                _SMOOTH_AP: ("Smooth-AP", 13.4),
                _NSM: ("NSM", 13.4),
                _CSL: ("CSL", 45.0),
                _HAPPIER: ("HAPPIER", 58.4),
                _FINE: ("HAPPIER-F", 36.0),
            },
        ),
    ),
    differs=(paper.WARM_UP, paper.PAIRS, paper.COUNTED),
    order=202,
)
