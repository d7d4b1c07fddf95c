"""The share of removed pairs: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.kinds import KINDS
from trainers.recipes.base import Recipe, stated
from trainers.recipes.command import written
from trainers.recipes.papers import object_removal as paper

_ARMS = written(KINDS["finetuning"].preset("figure4")["recipes"])

DESCRIPTOR = Recipe(
    name="coco_ratio",
    title="COCO: more and more object-removed pairs",
    paper=paper.PAPER,
    sentence="The share of object-removed pairs, up to five captions of an image.",
    dataset=paper.COCO,
    kind="finetuning",
    settings=paper.WITH_CLIP,
    arms=stated(_ARMS, "figure 4"),
    differs=(*paper.DIFFERS, "Figure 4 is a picture: our text has none of its numbers."),
    order=505,
)
