"""The contrastive term and the gap: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="contextual_gap",
    title="The contrastive term and the gap",
    work="contextual",
    statement=(
        "The contrastive term beside the contextual one is there to keep batches comparable: without it "
        "the decomposability gap is larger."
    ),
    where="Section 3",
    differences=differences("Contextual (lam 1)", "Contextual (lam 0.2)", "decomposability_gap"),
    plan=plans.contextual_lambda,
    ours=(*plans.OURS, "The gap is measured here; the paper gives the reason alone."),
    recipe=recipes.full_size("cub_contextual", "contextual", vary={"contextual.lam": (0.2, 0.4, 1.0)}),
    minutes=3.0,
    order=207,
)
