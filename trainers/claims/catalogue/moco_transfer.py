"""Transfer of MoCo to detection: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="moco_transfer",
    title="Transfer of MoCo to detection",
    work="contrastive",
    statement=(
        "Fine-tuned for other tasks, MoCo is above supervised pretraining on many of them, and slightly below it on a "
        "few, segmentation above all."
    ),
    where="MoCo, transferring features",
    lacking="VOC, COCO and a detector are not at hand; the recipe transfers to classification.",
    recipe=recipes.full_size("imagenet_moco", transfer="path/to/voc"),
    order=317,
)
