"""HAPPIER-F over the hierarchy: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_f_coarse",
    title="HAPPIER-F over the hierarchy",
    work="rank_losses",
    statement="What HAPPIER-F gains at the finest level it gives up over the whole hierarchy.",
    where="Tables V and IX",
    printed=recipes.printed(
        "HAPPIER and HAPPIER-F: H-AP {} on SOP, {} on iNat-base; AP at the coarse level {}, {}.",
        ("sop_hierarchy", "HAP", "HAPPIER", "HAPPIER-F"),
        ("inat_base_hierarchy", "HAP", "HAPPIER", "HAPPIER-F"),
        ("sop_hierarchy", "AP_level1", "HAPPIER", "HAPPIER-F"),
        ("inat_base_hierarchy", "AP_level1", "HAPPIER", "HAPPIER-F"),
    ),
    differences=differences("HAPPIER", "HAPPIER-F", "HAP"),
    plan=plans.hierarchy,
    ours=(
        *plans.OURS_LEVELS,
        "The sentence is read from the figures: section VII-C1 says that HAPPIER-F is meant to sacrifice no coarser "
        "level.",
        "The alpha of HAPPIER-F is 5, as on SOP (3 on iNaturalist).",
    ),
    recipe=recipes.full_size("sop_hierarchy", "happier", "happier_f"),
    minutes=5.0,
    order=105,
)
