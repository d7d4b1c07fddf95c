"""Object-removed pairs and ODmAP@1: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="odmap_removal",
    title="Object-removed pairs and ODmAP@1",
    work="spurious",
    statement=(
        "Fine-tuned on object-removed pairs as well, a model's first caption more often names an object that is there "
        "and none that was removed (ODmAP@1)."
    ),
    where="Table 1",
    printed=recipes.printed(
        "ODmAP@1 on COCO, D + D′ and D: {} for CLIP, 71.6 and 65.3 for BLIP, 59.8 and 56.0 for VSE++.",
        ("coco_clip", "ODmAP_at_1", "CLIP + ours", "CLIP (finetune)"),
    ),
    differences=differences("D + D′ (phrases, telea, 0.08)", "D", "ODmAP_at_1"),
    plan=plans.removal,
    ours=plans.OURS_SCENES,
    recipe=recipes.full_size("coco_clip"),
    minutes=6.0,
    order=401,
)
