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
    printed=(
        "HAPPIER and HAPPIER-F: H-AP 59.4 and 52.0 on SOP, 54.3 and 43.2 on iNat-base; AP at the coarse level 58.4 and "
        "36.0, 88.6 and 85.1."
    ),
    differences=differences("HAPPIER", "HAPPIER-F", "HAP"),
    plan=plans.hierarchy,
    ours=(
        *plans.OURS,
        "The sentence is read from the figures: section VII-C1 says that HAPPIER-F is meant to sacrifice no coarser "
        "level.",
    ),
    recipe=recipes.full_size("sop_hierarchy", "happier", "happier_f"),
    minutes=5.0,
    order=105,
)
