"""Two stages or one: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_stages",
    title="Two stages or one",
    work="contrastive",
    statement="A classifier trained beside the encoder does about as well as one trained after it.",
    where="SupCon, details of training",
    differences=differences(
        "SupCon (joint True)", "SupCon (joint False)", "classifier_accuracy", expected="equal", margin=0.02
    ),
    plan=plans.stages,
    ours=(
        *plans.OURS_PRETRAINED,
        plans.OURS_OPTIMISER,
        "A linear classifier decides; a second stage has 200 steps.",
        "Batches of 64 images in place of 6,144: one image in three has another of its class in its batch.",
        plans.OURS_MARGIN,
    ),
    tried=("With 120 steps, in an earlier plan: opposite seen, −6.6 [−8.3, −5.0] points.",),
    recipe=recipes.full_size("imagenet_supcon", "supcon:joint=false", "supcon:joint=true"),
    minutes=4.0,
    order=313,
)
