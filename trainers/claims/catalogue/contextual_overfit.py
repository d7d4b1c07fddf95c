"""Overfitting of the contextual loss: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="contextual_overfit",
    title="Overfitting of the contextual loss",
    work="contextual",
    statement=(
        "The contextual loss reaches at least the test R@1 of the contrastive loss at a lower R@1 on training images."
    ),
    where="Figure 2",
    differences=(
        *differences(
            Side(arm="Contrastive", under={"Label noise": 0.0}),
            Side(arm="Contextual", under={"Label noise": 0.0}),
            "train_R_at_1",
        ),
        *differences(
            Side(arm="Contextual", under={"Label noise": 0.0}),
            Side(arm="Contrastive", under={"Label noise": 0.0}),
            "R_at_1",
            expected="held",
            margin=0.02,
        ),
    ),
    plan=plans.noise,
    ours=(*plans.OURS, "Symmetric noise, drawn once for all seeds; the paper's protocol is not in our text."),
    recipe=recipes.full_size("cub_contextual", "contextual", "contrastive", "multi_similarity"),
    minutes=5.0,
    order=204,
)
