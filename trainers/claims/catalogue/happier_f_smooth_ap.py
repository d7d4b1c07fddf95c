"""HAPPIER-F against Smooth-AP: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_f_smooth_ap",
    title="HAPPIER-F against Smooth-AP",
    work="rank_losses",
    statement="HAPPIER-F, a method for the finest level, is still above losses on the finest labels in H-AP.",
    where="Table V and section VII-C",
    printed=recipes.printed(
        "H-AP of HAPPIER-F and Smooth-AP: {} on SOP, {} on iNat-base, {} on iNat-full.",
        ("sop_hierarchy", "HAP", "HAPPIER-F", "Smooth-AP"),
        ("inat_base_hierarchy", "HAP", "HAPPIER-F", "Smooth-AP"),
        ("inat_full_hierarchy", "HAP", "HAPPIER-F", "Smooth-AP"),
    ),
    differences=differences("HAPPIER-F", "Smooth-AP", "HAP"),
    plan=plans.hierarchy,
    ours=(
        *plans.OURS_LEVELS,
        "Smooth-AP alone, of the paper's four losses on the finest labels.",
        "The alpha of HAPPIER-F is 5, as on SOP (3 on iNaturalist).",
        "Smooth-AP has no class proxies, HAPPIER-F has.",
    ),
    tried=(
        "Less ROADMAP, which has proxies and the finest labels alone (the plan of Table II): 0.7 [−0.5, 2.0] points.",
    ),
    recipe=recipes.full_size("sop_hierarchy", "smooth_ap", "happier_f"),
    minutes=5.0,
    order=105,
)
