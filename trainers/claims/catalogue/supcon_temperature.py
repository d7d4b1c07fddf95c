"""Temperature of SupCon: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_temperature",
    title="Temperature of SupCon",
    work="contrastive",
    statement="In theory a temperature is the better the smaller it is; too small ones are numerically unstable.",
    where="SupCon, details of training",
    differences=differences("SupCon (temperature 0.1)", "SupCon (temperature 1)", "probe_accuracy"),
    plan=plans.temperature,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "Tried is 0.1 against 1; too small temperatures are not.",
        "Batches of 64 images in place of 6,144: one image in three has another of its class in its batch.",
    ),
    tried=(
        "By k-NN, which decided before: seen, 5.7 [3.4, 7.9] points.",
        "With 120 steps, in an earlier plan: seen, 1.6 [0.3, 2.9] points.",
    ),
    recipe=recipes.full_size(
        "imagenet_supcon", "supcon:temperature=0.07", "supcon:temperature=0.1", "supcon:temperature=1"
    ),
    minutes=3.0,
    order=308,
)
