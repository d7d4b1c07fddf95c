"""HAPPIER at the finest level: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_fine",
    title="HAPPIER at the finest level",
    work="rank_losses",
    statement="HAPPIER pays for its coarse levels with little or nothing at the finest one.",
    where="Table V",
    printed=(
        "HAPPIER and Smooth-AP: R@1 81.0 and 80.9, AP 60.4 and 60.8 on SOP; R@1 70.7 and 67.3, AP 36.7 "
        "and 35.2 on iNat-base."
    ),
    differences=differences("HAPPIER", "Smooth-AP", "R_at_1", "AP_level0", expected="held", margin=0.02),
    plan=plans.hierarchy,
    ours=plans.OURS,
    recipe=recipes.full_size("sop_hierarchy", "smooth_ap", "happier"),
    minutes=5.0,
    order=103,
)
