"""Prompts in place of captions: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="odmap_prompts",
    title="Prompts in place of captions",
    work="spurious",
    statement=(
        "With prompts as captions of the removed images the first result gets better, and the first ten get worse."
    ),
    where="Table 3",
    printed=recipes.printed(
        "CLIP on COCO, prompts and deleted phrases: ODmAP@1 {}, ODmAP@10 {}. Table 1 has {} in place of {}.",
        ("coco_captions", "ODmAP_at_1", "prompts", "noun phrases removed"),
        ("coco_captions", "ODmAP_at_10", "prompts", "noun phrases removed"),
        ("coco_clip", "ODmAP_at_10", "CLIP + ours"),
        ("coco_captions", "ODmAP_at_10", "noun phrases removed"),
    ),
    differences=(
        *differences("D + D′ (prompts, telea, 0.08)", "D + D′ (phrases, telea, 0.08)", "ODmAP_at_1"),
        *differences("D + D′ (phrases, telea, 0.08)", "D + D′ (prompts, telea, 0.08)", "ODmAP_at_10"),
    ),
    plan=plans.removal,
    ours=plans.OURS_SCENES,
    recipe=recipes.full_size("coco_captions"),
    minutes=6.0,
    order=404,
)
