"""HAPPIER on iNaturalist with two levels: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = paper.hierarchical("inat", alpha=3)
_SMOOTH_AP, _NSM, _CSL, _NDCG, _HAPPIER, _FINE = _ARMS

DESCRIPTOR = Recipe(
    name="inat_base_hierarchy",
    title="iNat-base: HAPPIER and other losses over two levels",
    paper=paper.PAPER,
    sentence="The same losses on species and one coarse level.",
    dataset=paper.INAT_BASE,
    kind="metric_learning",
    settings=paper.with_resnet(paper.ON_INAT),
    arms=stated(_ARMS, f"Table V and section VII-C (alpha of HAPPIER-F is 3); {paper.BOUND}"),
    figures=(
        *table(
            "Table V, iNat-base",
            paper.HIERARCHY,
            {
                _SMOOTH_AP: ("Smooth-AP", 67.3, 35.2, 41.3, 64.2, 91.9),
                _NSM: ("NSM", 70.2, 37.6, 38.0, 51.6, 88.9),
                _CSL: ("CSL", 62.9, 30.2, 50.1, 89.3, 96.7),
                _NDCG: ("ROD-NDCG", 70.7, 35.9, 53.1, 87.8, 96.6),
                _HAPPIER: ("HAPPIER", 70.7, 36.7, 54.3, 89.3, 96.9),
                _FINE: ("HAPPIER-F", 71.6, 37.8, 43.2, 87.0, 96.6),
            },
        ),
        *table(
            "Table IX, iNat-base",
            ("AP_level1",),
            {
                _SMOOTH_AP: ("Smooth-AP", 53.1),
                _NSM: ("NSM", 38.8),
                _CSL: ("CSL", 88.5),
                _HAPPIER: ("HAPPIER", 88.6),
                _FINE: ("HAPPIER-F", 85.1),
            },
        ),
    ),
    differs=(paper.WARM_UP, paper.COUNTED),
    order=212,
)
