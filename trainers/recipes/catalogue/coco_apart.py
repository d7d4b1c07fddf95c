"""Originals and removed pairs apart: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.kinds import KINDS
from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.command import written
from trainers.recipes.papers import object_removal as paper

_ARMS = written(KINDS["finetuning"].preset("appendix_b")["recipes"])

DESCRIPTOR = Recipe(
    name="coco_apart",
    title="COCO: originals and object-removed pairs apart",
    paper=paper.PAPER,
    sentence="As many originals as removed pairs, removed pairs alone, and both.",
    dataset=paper.COCO,
    kind="finetuning",
    settings=paper.WITH_CLIP,
    arms=stated(_ARMS, "appendix B"),
    figures=table(
        "appendix B",
        ("ODmAP_at_1", "i2t_R_at_1"),
        {
            _ARMS[0]: ("as many originals", 61.5, 60.5),
            _ARMS[1]: ("D′", 66.4, 58.1),
            _ARMS[2]: ("D + D′", 70.1, 65.6),
        },
    ),
    differs=paper.DIFFERS,
    order=504,
)
