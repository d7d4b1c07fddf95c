"""Neighbourhoods of the class's size: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="contextual_k",
    title="Neighbourhoods of the class's size",
    work="contextual",
    statement="Neighbourhoods must be as large as there are images of a class in the batch.",
    where="Section 3",
    differences=(
        *differences("Contextual (k 4)", "Contextual (k 2)", "R_at_1"),
        *differences("Contextual (k 4)", "Contextual (k 8)", "R_at_1"),
    ),
    plan=plans.contextual_k,
    ours=(*plans.OURS, "The paper states the condition; what happens without it is asked here."),
    tried=(
        "With 200 steps, in an earlier plan: opposite seen, −2.9 [−4.9, −0.9] points (Contextual (k 4) − "
        "Contextual (k 2)); 15.1 [9.0, 21.3] points (Contextual (k 4) − Contextual (k 8)).",
    ),
    recipe=recipes.full_size("cub_contextual", "contextual", vary={"contextual.k": (2, 4, 8)}),
    minutes=3.0,
    order=206,
)
