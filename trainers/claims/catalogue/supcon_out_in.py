"""The sum outside the logarithm: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_out_in",
    title="The sum outside the logarithm",
    work="contrastive",
    statement=("With the sum over positives outside the logarithm SupCon is better than with the sum inside."),
    where="SupCon, forms of the loss",
    differences=differences("SupCon (positives out)", "SupCon (positives in)", "probe_accuracy"),
    plan=plans.supervised,
    ours=plans.OURS_LABELLED,
    tried=(
        "With 128 images, three seeds and one rate, in the plan before: seen, 7.2 [0.2, 14.3] points.",
        "By the classifier, with 120 steps of 64 images, in an earlier plan: seen, 1.6 [0.1, 3.1] points.",
    ),
    recipe=recipes.full_size("imagenet_supcon", "supcon:positives=out", "supcon:positives=in"),
    minutes=6.0,
    order=309,
)
