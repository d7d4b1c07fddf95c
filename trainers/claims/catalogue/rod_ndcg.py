"""ROD-NDCG: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="rod_ndcg",
    title="ROD-NDCG",
    work="rank_losses",
    statement=("The same framework applied to NDCG is above a loss on the finest labels in NDCG and H-AP."),
    where="Table V",
    printed=recipes.printed(
        "ROD-NDCG and Smooth-AP: NDCG {}, H-AP {} on SOP.",
        ("sop_hierarchy", "NDCG", "ROD-NDCG", "Smooth-AP"),
        ("sop_hierarchy", "HAP", "ROD-NDCG", "Smooth-AP"),
    ),
    differences=differences("ROD-NDCG", "Smooth-AP", "NDCG", "HAP"),
    plan=plans.hierarchy,
    ours=(
        *plans.OURS_LEVELS,
        "Smooth-AP has no class proxies, ROD-NDCG has.",
    ),
    tried=(
        "Less ROADMAP, which has proxies and the finest labels alone (the plan of Table II): NDCG 1.7 [0.5, 2.9], "
        "H-AP 3.2 [0.7, 5.6] points.",
    ),
    recipe=recipes.full_size("sop_hierarchy", "smooth_ap", "rod_ndcg"),
    minutes=5.0,
    order=106,
)
