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
        plans.OURS_CLASSIFIER,
        "Batches of 64 images in place of 6,144.",
        plans.OURS_MARGIN,
    ),
    tried=(
        "With 480 steps in place of 120, seeds 10 to 14: the classifier beside the encoder is below by 2.8 points"
        " [1.1, 4.6]. Half of the difference goes with more steps.",
    ),
    recipe=recipes.full_size("imagenet_supcon", "supcon:joint=false", "supcon:joint=true"),
    minutes=4.0,
    order=313,
)
