"""The contrastive term and the gap: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="contextual_gap",
    title="The contrastive term and the gap",
    work="contextual",
    statement=(
        "The contrastive term beside the contextual one reduces the decomposability gap between a batch and the whole "
        "set."
    ),
    where="Section 3 (loss function)",
    differences=differences("Contextual (lam 1)", "Contextual (lam 0.2)", "decomposability_gap"),
    plan=plans.contextual_lambda,
    ours=(
        *plans.OURS,
        "The paper means the gap of the contextual loss itself; measured here is that of average precision. Its "
        "figures, in appendix D, are not in our text.",
        "Without the term is lam = 1, with it lam = 0.2.",
    ),
    tried=("With 200 steps, in an earlier plan: opposite seen, −0.023 [−0.043, −0.004].",),
    recipe=recipes.full_size("cub_contextual", "contextual", vary={"contextual.lam": (0.2, 0.4, 1.0)}),
    minutes=3.0,
    order=207,
)
