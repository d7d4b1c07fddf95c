"""Object-removed pairs and ODmAP@5 and 10: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="odmap_removal_more",
    title="Object-removed pairs and ODmAP@5 and 10",
    work="spurious",
    statement="On COCO, object-removed pairs make the first five and ten captions better too (ODmAP@5, ODmAP@10).",
    where="Table 1",
    printed=recipes.printed(
        "CLIP on COCO, D + D′ and D: ODmAP@5 {}, ODmAP@10 {}. Table 3 has {} and {} for D + D′. "
        "On Flickr30k CLIP has 47.6 and 48.4 in ODmAP@10.",
        ("coco_clip", "ODmAP_at_5", "CLIP + ours", "CLIP (finetune)"),
        ("coco_clip", "ODmAP_at_10", "CLIP + ours", "CLIP (finetune)"),
        ("coco_fills", "ODmAP_at_5", "inpainting"),
        ("coco_fills", "ODmAP_at_10", "inpainting"),
    ),
    differences=differences("D + D′ (phrases, telea, 0.08)", "D", "ODmAP_at_5", "ODmAP_at_10"),
    plan=plans.removal,
    ours=plans.OURS_SCENES,
    recipe=recipes.full_size("coco_clip"),
    minutes=6.0,
    order=401,
)
