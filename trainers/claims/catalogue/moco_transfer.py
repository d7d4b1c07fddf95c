"""Transfer of MoCo to detection: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="moco_transfer",
    title="Transfer of MoCo to detection",
    work="contrastive",
    statement=(
        "MoCo's features, fine-tuned for detection and segmentation, are on a par with or above supervised pretraining."
    ),
    where="MoCo, section 4.2",
    lacking="VOC, COCO and a detector are not at hand; the recipe transfers to classification.",
    recipe=recipes.full_size("imagenet_moco", transfer="path/to/voc"),
    order=317,
)
