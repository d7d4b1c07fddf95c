"""HAPPIER against CSL: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_csl",
    title="HAPPIER against CSL",
    work="rank_losses",
    statement=(
        "Optimising a hierarchical metric is better than a proxy loss over levels, at the finest level "
        "and over all of them."
    ),
    where="Table V",
    printed=recipes.printed(
        "HAPPIER and CSL on SOP: H-AP {}, AP {}.",
        ("sop_hierarchy", "HAP", "HAPPIER", "CSL"),
        ("sop_hierarchy", "AP_level0", "HAPPIER", "CSL"),
    ),
    differences=differences("HAPPIER", "CSL", "HAP", "AP_level0"),
    plan=plans.hierarchy,
    ours=plans.OURS_LEVELS,
    recipe=recipes.full_size("sop_hierarchy", "happier", "csl"),
    minutes=5.0,
    order=107,
)
