"""SupCon on ImageNet: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, ours, stated
from trainers.recipes.papers import contrastive as paper

DESCRIPTOR = Recipe(
    name="imagenet_supcon",
    title="ImageNet: SupCon and its baselines",
    paper=paper.SUPCON,
    sentence="SupCon in large batches beside cross-entropy, max-margin and SimCLR.",
    dataset=paper.IMAGENET,
    kind="contrastive",
    settings={
        **paper.SUPCON_ON_IMAGENET,
        "batch": stated(6144, "experiments: 6,144 images, 12,288 views"),
        "learning_rate": ours(4.8, "SimCLR's for LARS at a batch of 4,096"),
    },
    arms=stated(
        ("supcon", "cross_entropy", "max_margin", "simclr"), "Table 2; the temperature 0.1 is the code's on CIFAR"
    ),
    differs=(
        paper.MILLION,
        "All arms have one learning rate here; the paper says that SupCon needs a higher one than cross-entropy.",
    ),
    order=410,
)
