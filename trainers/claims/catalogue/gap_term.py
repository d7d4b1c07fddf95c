"""The gap and the decomposability term: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="gap_term",
    title="The gap and the decomposability term",
    work="rank_losses",
    statement=(
        "The decomposability term lowers the gap between the average precision within batches and that of"
        " the whole set."
    ),
    where="Section III-C and appendix A-B",
    differences=differences(
        Side(arm="Sup-AP", under={"Classes per batch": 6}),
        Side(arm="ROADMAP", under={"Classes per batch": 6}),
        "decomposability_gap",
    ),
    plan=plans.batches,
    ours=(
        *plans.OURS,
        "ROADMAP has proxies here; section III-C says that they act alike. The analysis of appendix A-B is of pairs.",
    ),
    tried=("With 200 steps, in an earlier plan: seen, 0.038 [0.001, 0.075].",),
    recipe=recipes.full_size("sop_average_precision", "sup_ap", "roadmap:preset=sop"),
    minutes=4.0,
    order=114,
)
