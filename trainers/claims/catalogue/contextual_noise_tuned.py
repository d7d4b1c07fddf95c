"""The contextual loss under noise, from a trained encoder: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="contextual_noise_tuned",
    title="The contextual loss under noise, from a trained encoder",
    work="contextual",
    statement=(
        "Fine-tuned at a small rate from a clean encoder, the contextual loss is ahead of the contrastive"
        " one under label noise."
    ),
    where="Abstract",
    differences=differences(
        Side(arm="Contextual", under={"Label noise": 0.4}),
        Side(arm="Contrastive", under={"Label noise": 0.4}),
        "R_at_1",
    ),
    plan=plans.noise_from_clean,
    begins=plans.clean_encoder,
    ours=(*plans.OURS, "The encoder is trained here, by the contrastive loss on other pots, for published weights."),
    recipe=recipes.full_size("cub_contextual", "contextual", "contrastive", vary={"label_noise": (0.0, 0.2, 0.4)}),
    minutes=5.0,
    order=208,
)
