"""The contextual loss with few training classes: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="contextual_withheld",
    title="The contextual loss with few training classes",
    work="contextual",
    statement=(
        "With a large part of the training data withheld, the contextual loss overfits less than the contrastive one: "
        "a higher R@1 on test images at a lower one on training images."
    ),
    where="Abstract",
    differences=(
        *differences(
            Side(arm="Contextual", under={"Withheld classes": 0.75}),
            Side(arm="Contrastive", under={"Withheld classes": 0.75}),
            "R_at_1",
        ),
        *differences(
            Side(arm="Contrastive", under={"Withheld classes": 0.75}),
            Side(arm="Contextual", under={"Withheld classes": 0.75}),
            "train_R_at_1",
        ),
    ),
    plan=plans.withheld,
    ours=(
        *plans.OURS_PAIRS,
        "Whole classes are withheld, three quarters of them; which data, and how much of it, is not in our text.",
        "Overfitting is measured as in figure 2; the abstract does not say how.",
    ),
    tried=(
        "With margins of 0 and 0.5 of the contrastive loss, in the plan before: opposite seen, 13.1 [8.6, 17.6] "
        "points (Contextual, withheld classes 0.75 − Contrastive, withheld classes 0.75); −19.9 [−21.5, −18.4] "
        "points (Contrastive, withheld classes 0.75 − Contextual, withheld classes 0.75).",
        "With 200 steps, in an earlier plan: opposite seen, 11.9 [6.2, 17.7] points (Contextual, withheld "
        "classes 0.75 − Contrastive, withheld classes 0.75); −23.6 [−36.3, −11.0] points (Contrastive, "
        "withheld classes 0.75 − Contextual, withheld classes 0.75).",
    ),
    recipe=recipes.full_size(
        "cub_contextual", "contextual", plans.CONTRASTIVE, vary={"withheld_classes": (0.0, 0.5, 0.75)}
    ),
    minutes=4.0,
    order=205,
)
