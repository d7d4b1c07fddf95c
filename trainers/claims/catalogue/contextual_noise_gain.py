"""Noise and the lead of the contextual loss: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="contextual_noise_gain",
    title="Noise and the lead of the contextual loss",
    work="contextual",
    statement=("The lead of the contextual loss over the contrastive one grows where labels are wrong."),
    where="No paper's: asked here",
    differences=differences(
        Side(arm="Contextual", under={"Label noise": 0.4}),
        Side(arm="Contrastive", under={"Label noise": 0.4}),
        "R_at_1",
        beyond=(
            Side(arm="Contextual", under={"Label noise": 0.0}),
            Side(arm="Contrastive", under={"Label noise": 0.0}),
        ),
    ),
    plan=plans.noise,
    ours=(
        *plans.OURS_PAIRS,
        "The question: the paper's abstract calls the loss more robust to label noise, and says no more of it.",
        "Symmetric noise, drawn once for all seeds; the paper's protocol is not in our text.",
    ),
    tried=(
        "At 40 % the contextual loss is hardly above untrained weights: of 200 test images it is right for 12.7 %, "
        "they for 8.1 %.",
        "From none to 20 % the lead falls by 8.1 points [3.7, 12.6].",
        "With margins of 0 and 0.5 of the contrastive loss, in the plan before: opposite seen, −24.6 [−29.5, −19.7]"
        " points.",
        "On Omniglot a triplet loss is ahead at 40 % noise, searched or not (docs/loss-comparisons.md).",
        "There a clean start brings it 18.6 points of R@1 at 40 % noise; for triplet no difference is seen.",
        "With 200 steps, in an earlier plan: opposite seen, −16.9 [−24.5, −9.4] points.",
    ),
    recipe=recipes.full_size("cub_contextual", "contextual", plans.CONTRASTIVE, vary={"label_noise": (0.0, 0.2, 0.4)}),
    minutes=5.0,
    order=203,
)
