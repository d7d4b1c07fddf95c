"""HAPPIER in H-AP, ASI and NDCG: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_metrics",
    title="HAPPIER in H-AP, ASI and NDCG",
    work="rank_losses",
    statement="HAPPIER is above losses on the finest labels in every hierarchical metric.",
    where="Table V",
    printed=recipes.printed(
        "HAPPIER and Smooth-AP on iNat-base: H-AP {}, ASI {}, NDCG {}.",
        ("inat_base_hierarchy", "HAP", "HAPPIER", "Smooth-AP"),
        ("inat_base_hierarchy", "ASI", "HAPPIER", "Smooth-AP"),
        ("inat_base_hierarchy", "NDCG", "HAPPIER", "Smooth-AP"),
    ),
    differences=differences("HAPPIER", "Smooth-AP", "HAP", "ASI", "NDCG"),
    plan=plans.hierarchy,
    ours=(
        *plans.OURS_LEVELS,
        "Smooth-AP alone, of the paper's four losses on the finest labels.",
        "Smooth-AP has no class proxies, HAPPIER has.",
    ),
    tried=(
        "Less ROADMAP, which has proxies and the finest labels alone (the plan of Table II): H-AP 1.9 [−0.7, 4.5], "
        "ASI 4.3 [2.4, 6.2], NDCG 1.2 [−0.1, 2.5] points.",
    ),
    recipe=recipes.full_size("sop_hierarchy", "smooth_ap", "happier"),
    minutes=5.0,
    order=102,
)
