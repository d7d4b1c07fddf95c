"""HAPPIER at coarse levels: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_coarse",
    title="HAPPIER at coarse levels",
    work="rank_losses",
    statement=(
        "A model trained with HAPPIER retrieves images of the same coarse class much better than one trained with "
        "Smooth-AP on the finest labels."
    ),
    where="Table IX",
    printed=recipes.printed(
        "AP at the coarse level, HAPPIER and Smooth-AP: {} on iNat-base, {} on SOP.",
        ("inat_base_hierarchy", "AP_level1", "HAPPIER", "Smooth-AP"),
        ("sop_hierarchy", "AP_level1", "HAPPIER", "Smooth-AP"),
    ),
    differences=differences("HAPPIER", "Smooth-AP", "AP_level1", "AP_level2"),
    plan=plans.hierarchy,
    ours=(
        *plans.OURS_LEVELS,
        "Two coarse levels in place of one.",
        plans.OURS_SHOWN,
        "Smooth-AP has no class proxies, HAPPIER has.",
    ),
    tried=(
        "Less ROADMAP, which has proxies and the finest labels alone (the plan of Table II): AP at the level of "
        "shapes 2.2 [0.1, 4.2], of shelves 6.5 [4.1, 9.0] points.",
    ),
    recipe=recipes.full_size("sop_hierarchy", "smooth_ap", "happier"),
    minutes=5.0,
    order=101,
)
