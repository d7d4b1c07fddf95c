"""CLIP on COCO: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="odmap_clip",
    title="CLIP on COCO",
    work="spurious",
    statement="CLIP fine-tuned on COCO with object-removed pairs gains ten points of ODmAP@1.",
    where="Table 1",
    printed=recipes.printed(
        "ODmAP@1: {} with, {} without, 58.6 before fine-tuning.",
        ("coco_clip", "ODmAP_at_1", "CLIP + ours"),
        ("coco_clip", "ODmAP_at_1", "CLIP (finetune)"),
    ),
    lacking="The published weights of CLIP are not at hand.",
    recipe=recipes.full_size("coco_clip"),
    order=406,
)
