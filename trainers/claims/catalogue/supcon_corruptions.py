"""SupCon on corrupted images: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_corruptions",
    title="SupCon on corrupted images",
    work="contrastive",
    statement=("SupCon loses less accuracy than cross-entropy on images with noise, blur, weather and compression."),
    where="SupCon, section 4.2 (ImageNet-C)",
    differences=differences("SupCon", "Cross-entropy", "corrupted_accuracy"),
    plan=plans.corrupted,
    ours=plans.OURS_CONTRASTIVE,
    recipe=recipes.full_size("imagenet_supcon", "supcon", "cross_entropy", corruptions=True),
    minutes=6.0,
    order=315,
)
