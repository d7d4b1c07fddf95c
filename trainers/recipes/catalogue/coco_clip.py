"""CLIP on COCO: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import object_removal as paper

DESCRIPTOR = Recipe(
    name="coco_clip",
    title="COCO: CLIP with and without object-removed pairs",
    paper=paper.PAPER,
    sentence="CLIP fine-tuned on originals, and on originals and object-removed pairs.",
    dataset=paper.COCO,
    kind="finetuning",
    settings=paper.WITH_CLIP,
    arms=stated((paper.D, paper.BOTH), "section 4.1: 45,467 pairs beside 113,287 x 5"),
    figures=(
        *table(
            "Table 1, MS-COCO",
            paper.ODMAP,
            {
                paper.D: ("CLIP (finetune)", 59.8, 53.2, 48.8),
                paper.BOTH: ("CLIP + ours", 70.1, 62.3, 56.8),
            },
        ),
        *table(
            "Table 2, MS-COCO",
            paper.RECALL,
            {
                paper.D: ("CLIP (finetune)", 65.5, 87.4, 93.3, 48.6, 75.7, 84.7),
                paper.BOTH: ("CLIP + ours", 65.6, 87.2, 93.1, 48.4, 75.7, 84.4),
            },
        ),
    ),
    differs=(*paper.DIFFERS, paper.OTHERS),
    order=500,
)
