"""HAPPIER-F at the finest level: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_f_fine",
    title="HAPPIER-F at the finest level",
    work="rank_losses",
    statement=("HAPPIER-F, whose relevance weighs the finest level more, has a better fine AP than HAPPIER."),
    where="Tables V and IX",
    printed=recipes.printed(
        "Fine AP of HAPPIER-F and HAPPIER: {} on SOP, {} on iNat-base.",
        ("sop_hierarchy", "AP_level0", "HAPPIER-F", "HAPPIER"),
        ("inat_base_hierarchy", "AP_level0", "HAPPIER-F", "HAPPIER"),
    ),
    differences=differences("HAPPIER-F", "HAPPIER", "AP_level0"),
    plan=plans.hierarchy,
    ours=(
        *plans.OURS_LEVELS,
        "The alpha of HAPPIER-F is 5, as on SOP (3 on iNaturalist).",
    ),
    recipe=recipes.full_size("sop_hierarchy", "happier", "happier_f"),
    minutes=5.0,
    order=104,
)
