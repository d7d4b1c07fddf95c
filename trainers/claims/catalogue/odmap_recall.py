"""Recall after object-removed pairs: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="odmap_recall",
    title="Recall after object-removed pairs",
    work="spurious",
    statement="Object-removed pairs cost no recall on the original images.",
    where="Table 2",
    printed="R@1 from image to text on COCO, D + D′ and D: 65.6 and 65.5 for CLIP.",
    differences=differences(
        "D + D′ (phrases, telea, 0.08)", "D", "i2t_R_at_1", "i2t_R_at_5", expected="held", margin=0.02
    ),
    plan=plans.removal,
    ours=plans.OURS_SCENES,
    recipe=recipes.full_size("coco_clip"),
    minutes=6.0,
    order=402,
)
