"""HAPPIER against ROD-NDCG: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="rod_ndcg_happier",
    title="HAPPIER against ROD-NDCG",
    work="rank_losses",
    statement="HAPPIER, which optimises H-AP, has a higher H-AP than the same framework applied to NDCG.",
    where="Table V",
    printed=recipes.printed(
        "H-AP of HAPPIER and ROD-NDCG: {} on SOP, {} on iNat-base, {} on iNat-full.",
        ("sop_hierarchy", "HAP", "HAPPIER", "ROD-NDCG"),
        ("inat_base_hierarchy", "HAP", "HAPPIER", "ROD-NDCG"),
        ("inat_full_hierarchy", "HAP", "HAPPIER", "ROD-NDCG"),
    ),
    differences=differences("HAPPIER", "ROD-NDCG", "HAP"),
    plan=plans.hierarchy,
    ours=(*plans.OURS_LEVELS, "The sentence is read from the figures."),
    recipe=recipes.full_size("sop_hierarchy", "rod_ndcg", "happier"),
    minutes=5.0,
    order=106,
)
