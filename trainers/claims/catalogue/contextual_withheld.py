"""The contextual loss with few classes: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="contextual_withheld",
    title="The contextual loss with few classes",
    work="contextual",
    statement=(
        "With most of the training classes withheld, the contextual loss overfits less than the "
        "contrastive one and has a higher R@1."
    ),
    where="Abstract",
    differences=differences(
        Side(arm="Contextual", under={"Withheld classes": 0.75}),
        Side(arm="Contrastive", under={"Withheld classes": 0.75}),
        "R_at_1",
    ),
    plan=plans.withheld,
    ours=(*plans.OURS, "Three quarters of the classes withheld; the paper's share is not in our text."),
    recipe=recipes.full_size(
        "cub_contextual", "contextual", "contrastive", vary={"withheld_classes": (0.0, 0.5, 0.75)}
    ),
    minutes=4.0,
    order=205,
)
