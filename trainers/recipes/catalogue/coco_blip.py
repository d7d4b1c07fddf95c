"""BLIP on COCO: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated
from trainers.recipes.papers import object_removal as paper

DESCRIPTOR = Recipe(
    name="coco_blip",
    title="COCO: BLIP with and without object-removed pairs",
    paper=paper.PAPER,
    sentence="BLIP fine-tuned on originals, and on originals and object-removed pairs.",
    dataset=paper.COCO,
    kind="finetuning",
    settings=paper.WITH_BLIP,
    arms=stated((paper.D, paper.BOTH), "section 4.1: 45,467 pairs beside 113,287 x 5"),
    figures=(
        *paper.figures(
            "Table 1, MS-COCO",
            paper.ODMAP,
            {
                paper.D: ("BLIP (finetune)", 65.3, 58.3, 53.8),
                paper.BOTH: ("BLIP + ours", 71.6, 63.7, 58.5),
            },
        ),
        *paper.figures(
            "Table 2, MS-COCO",
            paper.RECALL,
            {
                paper.D: ("BLIP (finetune)", 78.0, 93.8, 97.0, 61.0, 84.2, 90.8),
                paper.BOTH: ("BLIP + ours", 78.7, 94.5, 97.6, 61.3, 84.4, 90.8),
            },
        ),
    ),
    differs=paper.DIFFERS,
    order=501,
)
