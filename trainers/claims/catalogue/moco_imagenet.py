"""MoCo on ImageNet: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="moco_imagenet",
    title="MoCo on ImageNet",
    work="contrastive",
    statement=(
        "Linear classification of MoCo's features on ImageNet is on a par with or above that of other "
        "unsupervised methods."
    ),
    where="MoCo, section 4.1",
    lacking="ImageNet and days of eight GPUs are not at hand.",
    recipe=recipes.full_size("imagenet_moco"),
    order=316,
)
