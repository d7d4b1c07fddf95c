"""SupCon against SimCLR: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_simclr",
    title="SupCon against SimCLR",
    work="contrastive",
    statement="SupCon classifies better than SimCLR, which has no labels.",
    where="SupCon, Table 2",
    differences=differences("SupCon (positives out)", "SimCLR", "probe_accuracy"),
    plan=plans.supervised,
    ours=plans.OURS_LABELLED,
    tried=(
        "SimCLR was chosen the lowest rate tried, so less might suit it better.",
        "With 128 images, three seeds and one rate, in the plan before: seen, 14.4 [7.6, 21.3] points.",
        "By the classifier, with 120 steps of 64 images, in an earlier plan: seen, 2.4 [1.7, 3.2] points.",
    ),
    recipe=recipes.full_size("imagenet_supcon", "supcon", "simclr"),
    minutes=6.0,
    order=312,
)
