"""Fills on COCO: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.kinds import KINDS
from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.command import written
from trainers.recipes.papers import object_removal as paper

_ARMS = written(KINDS["finetuning"].preset("table3_fills")["recipes"])

DESCRIPTOR = Recipe(
    name="coco_fills",
    title="COCO: what is painted over the object",
    paper=paper.PAPER,
    sentence="Four fills of the removed object.",
    dataset=paper.COCO,
    kind="finetuning",
    settings=paper.WITH_CLIP,
    arms=stated(_ARMS, "Table 3"),
    figures=table(
        "Table 3",
        paper.ODMAP,
        {
            _ARMS[0]: ("blur", 67.9, 60.9, 55.8),
            _ARMS[1]: ("zero", 68.9, 61.0, 55.7),
            _ARMS[2]: ("mean", 69.1, 62.0, 57.1),
            _ARMS[3]: ("inpainting", 70.1, 63.7, 58.5),
        },
    ),
    differs=(*paper.DIFFERS, paper.TABLE_3),
    order=502,
)
