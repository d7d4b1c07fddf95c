"""MoCo without momentum: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="moco_momentum_zero",
    title="MoCo without momentum",
    work="contrastive",
    statement=(
        "With a key encoder that copies the query encoder at every step, MoCo does not converge: its loss oscillates, "
        "and training fails."
    ),
    where="MoCo, ablation of the momentum",
    differences=differences("MoCo v1 (momentum 0.99)", "MoCo v1 (momentum 0)", "knn_accuracy"),
    plan=plans.momentum,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "1,024 keys in place of 65,536, and 480 steps in place of 200 epochs.",
        "Decided is that its accuracy is lower than with a momentum of 0.99, not that the loss oscillates.",
    ),
    tried=("With 120 steps of SGD, as first planned: seen, 2.6 [1.0, 4.1] points.",),
    recipe=recipes.full_size("imagenet_moco", "moco_v1:momentum=0", "moco_v1:momentum=0.99", "moco_v1:momentum=0.999"),
    minutes=5.0,
    order=301,
)
