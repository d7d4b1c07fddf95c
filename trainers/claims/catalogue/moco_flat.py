"""Dictionaries that are large enough: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="moco_flat",
    title="Dictionaries that are large enough",
    work="contrastive",
    statement="From some size on a larger dictionary no longer helps much.",
    where="MoCo, ablation of the contrastive loss mechanisms",
    printed="From 16,384 to 65,536 keys there is no clear gain.",
    differences=differences(
        "MoCo v1 (queue 2048)", "MoCo v1 (queue 512)", "probe_accuracy", expected="equal", margin=0.02
    ),
    plan=plans.dictionary,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "128 to 2,048 keys in place of up to 65,536: there are 3,200 images.",
        plans.OURS_MARGIN,
        plans.OURS_UNTRAINED,
    ),
    tried=(
        "No size helps here: by the linear probe 2,048 keys are 4.1 points below 128 [3.5, 4.6].",
        "By k-NN, which decided before: seen, −0.2 [−1.2, 0.7] points.",
        "With 120 steps of SGD, in an earlier plan: seen, −0.7 [−1.4, 0.0] points.",
    ),
    recipe=recipes.full_size("imagenet_moco", "moco_v1:queue=16384", "moco_v1:queue=65536"),
    minutes=6.0,
    order=304,
)
