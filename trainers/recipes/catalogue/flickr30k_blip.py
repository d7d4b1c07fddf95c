"""BLIP on Flickr30k: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated
from trainers.recipes.papers import object_removal as paper

DESCRIPTOR = Recipe(
    name="flickr30k_blip",
    title="Flickr30k: BLIP with and without object-removed pairs",
    paper=paper.PAPER,
    sentence="The same with BLIP.",
    dataset=paper.FLICKR,
    kind="finetuning",
    settings=paper.WITH_BLIP,
    arms=stated((paper.D, paper.FLICKR_BOTH), "section 4.1: 4,650 pairs beside 29,000 x 5"),
    figures=(
        *paper.figures(
            "Table 1, Flickr30k",
            paper.ODMAP,
            {
                paper.D: ("BLIP (finetune)", 58.3, 52.5, 50.3),
                paper.FLICKR_BOTH: ("BLIP + ours", 62.5, 55.4, 52.4),
            },
        ),
        *paper.figures(
            "Table 2, Flickr30k",
            paper.RECALL,
            {
                paper.D: ("BLIP (finetune)", 96.1, 99.8, 99.9, 85.8, 97.2, 98.8),
                paper.FLICKR_BOTH: ("BLIP + ours", 96.2, 99.6, 100.0, 86.2, 97.5, 98.8),
            },
        ),
    ),
    differs=paper.DIFFERS,
    order=511,
)
