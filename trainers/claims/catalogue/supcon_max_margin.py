"""SupCon against max-margin: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_max_margin",
    title="SupCon against max-margin",
    work="contrastive",
    statement="SupCon classifies better than training by a max-margin loss.",
    where="SupCon, Table 2",
    differences=differences("SupCon (positives out)", "Max-margin", "classifier_accuracy"),
    plan=plans.supervised,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "AdamW at 0.003 and batches of 64 in place of LARS and 6,144; SupCon sees two views in a step.",
    ),
    recipe=(
        "python -m trainers sweep pretrain --data ILSVRC/imagenet-1k --held-out images --max-images "
        "1000000 --image-size 224 --encoder timm:model=resnet50,pretrained=false --norm batch --batch "
        "6144 --epochs 350 --method supcon max_margin"
    ),
    minutes=6.0,
    order=311,
)
