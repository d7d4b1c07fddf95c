"""Shuffled keys: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="moco_shuffling",
    title="Shuffled keys",
    work="contrastive",
    statement=(
        "Where batch statistics are taken in groups, keys in the order of their queries let the model "
        "recognise its key: the training task gets easier and the representation worse."
    ),
    where="MoCo, shuffling BN",
    differences=(
        *differences("MoCo v1 (shuffle False)", "MoCo v1 (shuffle True)", "contrast_accuracy"),
        *differences("MoCo v1 (shuffle True)", "MoCo v1 (shuffle False)", "probe_accuracy"),
    ),
    plan=plans.shuffling,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "Eight groups of 8 images on one processor stand for eight devices.",
        "What an easier task is: the share of queries whose key has the highest score.",
    ),
    tried=(
        "By k-NN, which decided before: not seen at this scale, 2.1 [−2.4, 6.6] points (MoCo v1 (shuffle False) − "
        "MoCo v1 (shuffle True)); −0.2 [−2.4, 2.1] points (MoCo v1 (shuffle True) − MoCo v1 (shuffle False)).",
        "With 120 steps of SGD, in an earlier plan: not seen at this scale, 2.7 [0.7, 4.6] points (MoCo v1 "
        "(shuffle False) − MoCo v1 (shuffle True)); 0.3 [−0.7, 1.3] points (MoCo v1 (shuffle True) − MoCo v1 "
        "(shuffle False)).",
    ),
    recipe=recipes.full_size("imagenet_moco", "moco_v1", "moco_v1:shuffle=false"),
    minutes=3.0,
    order=307,
)
