"""Captions on COCO: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.kinds import KINDS
from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.command import written
from trainers.recipes.papers import object_removal as paper

_ARMS = written(KINDS["finetuning"].preset("table3_texts")["recipes"])

DESCRIPTOR = Recipe(
    name="coco_captions",
    title="COCO: captions of object-removed images",
    paper=paper.PAPER,
    sentence="Originals alone; a captioner, prompts, and noun phrases deleted.",
    dataset=paper.COCO,
    kind="finetuning",
    settings=paper.WITH_CLIP,
    arms=stated(_ARMS, "Table 3"),
    figures=table(
        "Table 3",
        paper.ODMAP,
        {
            _ARMS[0]: ("D", 59.8, 53.2, 48.8),
            _ARMS[1]: ("captioning model", 61.9, 55.6, 51.6),
            _ARMS[2]: ("prompts", 73.8, 56.2, 49.5),
            _ARMS[3]: ("noun phrases removed", 70.1, 63.7, 58.5),
        },
    ),
    differs=(*paper.DIFFERS, paper.TABLE_3, "The captioner is BLIP where the paper has ClipCap."),
    order=503,
)
