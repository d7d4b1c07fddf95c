"""A slowly moving key encoder: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="moco_momentum_large",
    title="A slowly moving key encoder",
    work="contrastive",
    statement="A momentum of 0.99 or more is better than one of 0.9.",
    where="MoCo, momentum update and its ablation",
    printed="0.999 is much better than 0.9; in the ablation 0.99 to 0.9999 are better.",
    differences=(
        *differences("MoCo v1 (momentum 0.999)", "MoCo v1 (momentum 0.9)", "probe_accuracy"),
        *differences("MoCo v1 (momentum 0.99)", "MoCo v1 (momentum 0.9)", "probe_accuracy"),
    ),
    plan=plans.momentum,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "1,024 keys in place of 65,536, and 480 steps in place of 200 epochs: at a momentum of 0.999 the key encoder "
        "still has 62 % of its first weights then.",
        plans.OURS_SHOWN,
    ),
    tried=(
        "By k-NN, which decided before: seen, 7.6 [6.5, 8.8] points (MoCo v1 (momentum 0.999) − MoCo v1 (momentum "
        "0.9)); 5.9 [2.8, 8.9] points (MoCo v1 (momentum 0.99) − MoCo v1 (momentum 0.9)).",
        "With 120 steps of SGD, in an earlier plan: not seen at this scale, 1.9 [−1.6, 5.3] points (MoCo v1 "
        "(momentum 0.999) − MoCo v1 (momentum 0.9)); 1.8 [−1.1, 4.8] points (MoCo v1 (momentum 0.99) − MoCo "
        "v1 (momentum 0.9)).",
    ),
    recipe=recipes.full_size(
        "imagenet_moco",
        "moco_v1:momentum=0.9",
        "moco_v1:momentum=0.99",
        "moco_v1:momentum=0.999",
        "moco_v1:momentum=0.9999",
    ),
    minutes=5.0,
    order=302,
)
