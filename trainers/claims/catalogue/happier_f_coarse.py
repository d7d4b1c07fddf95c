"""HAPPIER-F at coarse levels: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="happier_f_coarse",
    title="HAPPIER-F at coarse levels",
    work="rank_losses",
    statement="What HAPPIER-F gains at the finest level it gives up over the whole hierarchy.",
    where="Table V",
    printed="H-AP of HAPPIER and HAPPIER-F: 59.4 and 52.0 on SOP, 54.3 and 43.2 on iNat-base.",
    differences=differences("HAPPIER", "HAPPIER-F", "HAP"),
    plan=plans.hierarchy,
    ours=plans.OURS,
    recipe=recipes.full_size("sop_hierarchy", "happier", "happier_f"),
    minutes=5.0,
    order=105,
)
