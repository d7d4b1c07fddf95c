"""MoCo on ImageNet: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="moco_imagenet",
    title="MoCo on ImageNet",
    work="contrastive",
    statement=(
        "With a linear classifier on its features MoCo has results on ImageNet comparable to those of supervised "
        "training."
    ),
    where="MoCo, introduction",
    lacking="ImageNet and days of eight GPUs are not at hand.",
    recipe=recipes.full_size("imagenet_moco"),
    order=316,
)
