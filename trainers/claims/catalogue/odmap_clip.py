"""CLIP on COCO: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="odmap_clip",
    title="CLIP on COCO",
    work="spurious",
    statement="CLIP fine-tuned on COCO with object-removed pairs gains ten points of ODmAP@1.",
    where="Table 1",
    printed="ODmAP@1: 70.1 with, 59.8 without, 58.6 before fine-tuning.",
    lacking="The published weights of CLIP are not at hand.",
    recipe=("python -m trainers sweep finetune --preset paper --data path/to/coco --model clip_vit_b32"),
    order=406,
)
