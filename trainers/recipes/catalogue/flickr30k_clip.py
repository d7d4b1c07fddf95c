"""CLIP on Flickr30k: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import object_removal as paper

DESCRIPTOR = Recipe(
    name="flickr30k_clip",
    title="Flickr30k: CLIP with and without object-removed pairs",
    paper=paper.PAPER,
    sentence="The same on Flickr30k, whose phrases are annotated.",
    dataset=paper.FLICKR,
    kind="finetuning",
    settings=paper.WITH_CLIP,
    arms=stated((paper.D, paper.FLICKR_BOTH), "section 4.1: 4,650 pairs beside 29,000 x 5"),
    figures=(
        *table(
            "Table 1, Flickr30k",
            paper.ODMAP,
            {
                paper.D: ("CLIP (finetune)", 60.2, 52.2, 48.4),
                paper.FLICKR_BOTH: ("CLIP + ours", 61.4, 52.3, 47.6),
            },
        ),
        *table(
            "Table 2, Flickr30k",
            paper.RECALL,
            {
                paper.D: ("CLIP (finetune)", 84.2, 96.1, 98.1, 68.6, 90.4, 95.1),
                paper.FLICKR_BOTH: ("CLIP + ours", 85.0, 96.5, 99.0, 69.9, 90.9, 95.4),
            },
        ),
    ),
    differs=(*paper.DIFFERS, paper.OTHERS),
    order=510,
)
