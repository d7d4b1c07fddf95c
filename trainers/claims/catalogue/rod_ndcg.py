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
    printed="ROD-NDCG and Smooth-AP: NDCG 91.1 and 78.2, H-AP 58.3 and 42.9 on SOP.",
    differences=differences("ROD-NDCG", "Smooth-AP", "NDCG", "HAP"),
    plan=plans.hierarchy,
    ours=plans.OURS,
    recipe=recipes.full_size("sop_hierarchy", "smooth_ap", "rod_ndcg"),
    minutes=5.0,
    order=106,
)
