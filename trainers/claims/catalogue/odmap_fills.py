"""Painted over or blanked: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="odmap_fills",
    title="Painted over or blanked",
    work="spurious",
    statement="Objects that are painted over make better pairs than objects that are blanked or blurred.",
    where="Table 3",
    printed=recipes.printed(
        "ODmAP@1 of CLIP on COCO: painted over {}, mean {}, zeros {}, blur {}.",
        ("coco_fills", "ODmAP_at_1", "inpainting"),
        ("coco_fills", "ODmAP_at_1", "mean"),
        ("coco_fills", "ODmAP_at_1", "zero"),
        ("coco_fills", "ODmAP_at_1", "blur"),
    ),
    differences=(
        *differences("D + D′ (phrases, telea, 0.08)", "D + D′ (phrases, zero, 0.08)", "ODmAP_at_1"),
        *differences("D + D′ (phrases, telea, 0.08)", "D + D′ (phrases, blur, 0.08)", "ODmAP_at_1"),
    ),
    plan=plans.removal,
    ours=(*plans.OURS_SCENES, "The fill with the mean is not run."),
    recipe=recipes.full_size("coco_fills"),
    minutes=6.0,
    order=403,
)
