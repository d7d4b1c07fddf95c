"""HAPPIER on iNaturalist with seven levels: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.hierarchical("inat", alpha=3)
_SMOOTH_AP, _NSM, _CSL, _NDCG, _HAPPIER, _FINE = _ARMS

DESCRIPTOR = Recipe(
    name="inat_full_hierarchy",
    title="iNat-full: HAPPIER and other losses over seven levels",
    paper=paper.PAPER,
    sentence="The same losses on the whole taxonomy, from species to kingdom.",
    dataset=paper.INAT_FULL,
    kind="metric_learning",
    settings=paper.with_resnet(paper.ON_INAT),
    arms=stated(_ARMS, f"Table V and section VII-C (alpha of HAPPIER-F is 3); {paper.BOUND}"),
    figures=(
        *table(
            "Table V, iNat-full",
            paper.HIERARCHY,
            {
                _SMOOTH_AP: ("Smooth-AP", 67.3, 35.2, 37.2, 60.1, 90.1),
                _NSM: ("NSM", 70.2, 37.6, 33.3, 51.7, 88.2),
                _CSL: ("CSL", 59.9, 30.4, 45.1, 84.9, 93.0),
                _NDCG: ("ROD-NDCG", 71.2, 36.7, 44.8, 81.1, 93.1),
                _HAPPIER: ("HAPPIER", 70.2, 36.0, 47.9, 87.2, 93.8),
                _FINE: ("HAPPIER-F", 71.4, 37.6, 40.1, 80.0, 93.5),
            },
        ),
        *table(
            "Table VI, iNat-full",
            tuple(f"AP_level{level}" for level in range(1, 7)),
            {
                _SMOOTH_AP: ("Smooth-AP", 36.3, 33.5, 35.0, 49.3, 55.8, 69.9),
                _NSM: ("NSM", 38.0, 31.4, 28.6, 36.6, 43.9, 63.0),
                _CSL: ("CSL", 32.4, 36.2, 50.7, 81.0, 87.4, 91.3),
                _HAPPIER: ("HAPPIER", 37.0, 38.0, 51.9, 81.3, 89.1, 94.4),
                _FINE: ("HAPPIER-F", 38.2, 38.8, 50.9, 76.1, 82.2, 83.1),
            },
        ),
    ),
    differs=(paper.WARM_UP, paper.COUNTED),
    order=213,
)
